// Package tell reports what came of a pass: verdict, failures, outcome and report.
package tell
