// Package tell says what came of a pass: verdict, failures, outcome and report.
package tell
