package definition

import (
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

var cronFields = []struct {
	name      string
	low, high int
	words     []string // of the values from low on
}{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// checkCron takes the five fields of crontab(5): lists, ranges, steps and
// English names of months and days.
func checkCron(s string) string {
	fields := strings.Fields(s)
	if len(fields) != len(cronFields) {
		return "is no cron expression: write five fields (minute, hour, day, month, day of the week), such as 0 2 * * 6"
	}
	for i, f := range cronFields {
		for _, item := range strings.Split(fields[i], ",") {
			if !cronItem(item, f.low, f.high, f.words) {
				return "is no cron expression: its " + f.name + " is none of " +
					strconv.Itoa(f.low) + " to " + strconv.Itoa(f.high) + ", *, a list, a range or a step"
			}
		}
	}
	if schedule, err := cron.ParseStandard(s); err == nil && schedule.Next(anyYear).IsZero() {
		return "comes in no year: no month that it names has such a day"
	}
	return ""
}

// anyYear begins five years with a 29th of February.
var anyYear = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func cronItem(item string, low, high int, words []string) bool {
	span, step, stepped := strings.Cut(item, "/")
	if stepped {
		if n, err := strconv.Atoi(step); err != nil || n < 1 || n > high {
			return false
		}
	}
	if span == "*" {
		return true
	}
	from, to, ranged := strings.Cut(span, "-")
	a, ok := cronValue(from, low, high, words)
	if !ok || !ranged {
		return ok
	}
	b, ok := cronValue(to, low, high, words)
	return ok && a <= b
}

func cronValue(s string, low, high int, words []string) (int, bool) {
	for i, word := range words {
		if strings.EqualFold(s, word) {
			return low + i, true
		}
	}
	if s == "" || len(s) > 2 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= low && n <= high
}
