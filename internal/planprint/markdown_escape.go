package planprint

import (
	"regexp"
	"strings"
)

// Markdown is escaped by what is allowed, for each platform links more than its
// manual says: mentions, issues, commits, addresses, shortcodes. A word of prose
// stays as it is if it can be nothing but a word; any other is set as code, in
// which neither Markdown nor HTML nor a mention means anything.
var (
	proseWord = regexp.MustCompile(`^[(]?[A-Za-z0-9][A-Za-z0-9./'-]*(?:,[A-Za-z0-9./'-]+)*[%).,;:?]*$|^[-=+/%–—…×→][,;:]?$`)
	linked    = regexp.MustCompile(`(?i)www\.|(?:^|[^0-9a-z])[0-9a-f]{7,}(?:$|[^0-9a-z])|\bgh-[0-9]`)
	tracker   = regexp.MustCompile(`\b[A-Z][A-Z0-9]+-[0-9]+\b`)
	// The first word of an item must not be taken for a list, a rule or a heading.
	firstWord = regexp.MustCompile(`^[(]?[A-Za-z]|^[0-9][0-9,]*$|^[0-9]+[A-Za-z]`)
)

// prose is a sentence in which what is not plainly a word is set as code.
func prose(text string) string {
	var parts, run []string
	end := func() {
		if len(run) > 0 {
			parts = append(parts, code(strings.Join(run, " ")))
			run = nil
		}
	}
	for i, word := range strings.Fields(plain(text)) {
		safe := onlyLetters(word)
		if !safe {
			safe = proseWord.MatchString(word) && !linked.MatchString(word) && !tracker.MatchString(word) && (i > 0 || firstWord.MatchString(word))
		}
		if word == "->" {
			word, safe = "→", true
		}
		if !safe {
			run = append(run, word)
			continue
		}
		end()
		parts = append(parts, word)
	}
	end()
	return strings.Join(parts, " ")
}

// onlyLetters reports whether a word has letters only, and is too short for a commit or has one that
// no commit has: most words are such, and nothing else has to be asked of them.
func onlyLetters(word string) bool {
	safe := len(word) < 7
	for i := range len(word) {
		c := word[i] | 0x20
		if c < 'a' || c > 'z' {
			return false
		}
		safe = safe || c > 'f'
	}
	return safe
}

// code is a code span: its fence is longer than any run of backticks in it.
func code(text string) string {
	text = plain(text)
	if strings.TrimSpace(text) == "" {
		text = `""`
	}
	fence := strings.Repeat("`", longest(text, '`')+1)
	if text[0] == '`' || text[len(text)-1] == '`' || text[0] == ' ' && text[len(text)-1] == ' ' {
		text = " " + text + " "
	}
	return fence + text + fence
}

// block is a fenced block of lines that are plain.
func block(language string, lines []string) string {
	mark := 2
	for _, l := range lines {
		mark = max(mark, longest(l, '`'))
	}
	fence := strings.Repeat("`", mark+1)
	return fence + language + "\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

func longest(text string, of byte) int {
	most, run := 0, 0
	for i := range len(text) {
		if text[i] != of {
			run = 0
			continue
		}
		run++
		most = max(most, run)
	}
	return most
}

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// htmlCode is code inside of HTML.
func htmlCode(text string) string { return "<code>" + htmlEscapes.Replace(plain(text)) + "</code>" }

// cut shortens a text to at most n characters, and says so.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n]) + "…"
}
