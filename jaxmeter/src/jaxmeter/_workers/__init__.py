"""Fresh processes that measure: started, supervised, ended."""
