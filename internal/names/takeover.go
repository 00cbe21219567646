package names

// NoTakeOver is said wherever an object of others stands in the way: a label that is put on
// by hand would have pods of a running cluster replaced, by two controllers at once.
const NoTakeOver = "taking over a cluster that runs already, crate-operator's or another's, is not supported yet"
