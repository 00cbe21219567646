package definition

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(k|K|M|G|T|P|Ki|Mi|Gi|Ti|Pi)B?$`)

var sizeUnits = map[string]float64{
	"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50,
}

// Bytes reads a size as crate-operator does (bitmath's spelling, "128GiB", and
// Kubernetes', "4Gi"; without i the unit is decimal). An error says what to
// write; a bare number is one, since nobody means bytes.
func Bytes(size string) (int64, error) {
	match := sizePattern.FindStringSubmatch(size)
	if match == nil {
		if _, err := strconv.ParseFloat(size, 64); err == nil {
			return 0, fmt.Errorf("has no unit: write %sGiB or %sMiB", size, size)
		}
		return 0, fmt.Errorf("is no size: write for example 128GiB or 512MiB")
	}
	number, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		return 0, fmt.Errorf("is no size: write for example 128GiB or 512MiB")
	}
	bytes := math.Floor(number * sizeUnits[match[2]])
	if bytes < 1 {
		return 0, fmt.Errorf("is nothing: write for example 128GiB or 512MiB")
	}
	if bytes > 1<<62 {
		return 0, fmt.Errorf("is out of range: write at most 4096PiB")
	}
	return int64(bytes), nil
}

func checkSize(s string) string {
	if _, err := Bytes(s); err != nil {
		return err.Error()
	}
	return ""
}

func checkDiskSize(s string) string { return checkSize(s) }

// checkMemory wants enough for a JVM to start at all; less is a missing unit
// or a slip of it (4Mi for 4Gi).
func checkMemory(s string) string {
	bytes, err := Bytes(s)
	if err != nil {
		return err.Error()
	}
	if bytes < 128<<20 {
		return "is too little for CrateDB to start: write at least 128MiB"
	}
	return ""
}

var milli = regexp.MustCompile(`^([0-9]+)m$`)

func checkCPU(s string) string {
	if match := milli.FindStringSubmatch(s); match != nil {
		n, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			return "is no number of cores"
		}
		return "is a text: write " + strconv.FormatFloat(n/1000, 'f', -1, 64)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return "" // its type is said elsewhere
	}
	if v <= 0 {
		return "is out of range: write more than 0"
	}
	if v > 1e6 {
		return "is out of range: write the number of cores"
	}
	if thousandths := v * 1000; math.Abs(thousandths-math.Round(thousandths)) > 1e-6 {
		return "is finer than Kubernetes counts: write at most three digits after the point"
	}
	return ""
}

func checkHeapRatio(s string) string {
	v, err := strconv.ParseFloat(s, 64)
	if percent, perr := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64); err != nil && perr == nil && percent > 0 && percent < 100 {
		return "is a percentage: write " + strconv.FormatFloat(percent/100, 'f', -1, 64)
	}
	if err != nil {
		return ""
	}
	if v <= 0 || v >= 1 {
		return "is out of range: write a number between 0 and 1, such as 0.25"
	}
	return ""
}
