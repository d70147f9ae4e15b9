def call_seconds(function, x, clock):
    function(x).block_until_ready()
    seconds = []
    for _ in range(5):
        start = clock()
        function(x).block_until_ready()
        seconds.append(clock() - start)
    return seconds
