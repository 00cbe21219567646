package model

// Answer is a yes or no that may be unknown. The zero value is Unknown.
type Answer uint8

// The answers.
const (
	Unknown Answer = iota
	No
	Yes
)

// String is the answer in one word.
func (a Answer) String() string {
	switch a {
	case No:
		return "no"
	case Yes:
		return "yes"
	}
	return "unknown"
}

// AnswerOf makes an Answer of a known bool.
func AnswerOf(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}
