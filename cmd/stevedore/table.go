package main

import (
	"fmt"
	"slices"
	"strings"
)

// table is a line for each row; where that does not fit, a line for each thing that is said of it. A
// terminal would break lines in the middle of words. A width of 0 is none.
func table(columns []string, rows [][]string, width int) []string {
	widths := make([]int, len(columns))
	all := append([][]string{columns}, rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var lines []string
	for _, row := range all {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*s  ", widths[i], cell)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	longest := slices.MaxFunc(lines, func(a, b string) int { return len([]rune(a)) - len([]rune(b)) })
	if width == 0 || len([]rune(longest)) <= width {
		return lines
	}
	lines = nil
	for _, row := range rows {
		for i, cell := range row {
			if cell != "" {
				lines = append(lines, wrapped(strings.ToLower(columns[i])+": "+cell, width)...)
			}
		}
		lines = append(lines, "")
	}
	return lines[:len(lines)-1]
}
