package main

// The build with all mutations has another file in the place of this one.

// takeOut takes a guard out.
func takeOut(int) {}

// differed are the guards that made a difference since forget, as bits.
func differed() []uint64 { return nil }

func forget() {}
