package shape

// The bounds that are parts of measures.
const (
	longestFunction  = 60
	longestCondition = 4
	longestFile      = 500
	largestFile      = 256 << 10 // bytes
)

// Limits are the measures of this repository. Who makes a value smaller writes the new one
// into its column; who has a reason to make one larger says it in the commit.
var Limits = []Limit{
	{"lines of the packages of ops that decide", 21485, 6000, coreLines},
	{"files of a package in the largest cycle", 5, 5, largestComponent},
	{"methods of the type with the most in ops", 18, 18, mostMethods},
	{"functions over 60 lines in ops/...", 0, 0, longFunctions},
	{"conditions over 4 terms in ops/...", 0, 0, longConditions},
	{"files over 500 lines in the repository", 0, 0, longFiles},
	{"files in the repository that nobody wrote", 0, 0, unwrittenFiles},
}
