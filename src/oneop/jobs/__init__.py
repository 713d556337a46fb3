"""Jobs: functions traced once, planned, then run from C++."""
