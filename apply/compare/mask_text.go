package compare

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// A person puts a password where it does not belong: into an environment
// variable, a setting, a ConfigMap. What follows such a name is hidden to the end
// of its line, for where it ends cannot be told.
const secretWords = `(?:passw(?:or)?d|passphrase|secret|token|credential|api[_.-]?key|access[_.-]?key|private[_.-]?key)`

var (
	secretName     = regexp.MustCompile(`(?i)` + secretWords)
	secretIsNamed  = regexp.MustCompile(`(?i)(?:ref|name|file|path|policy|type|seconds)s?$`)
	secretVariable = regexp.MustCompile(`\[name=([^\]]*)\]\.value$`)
	assignment     = regexp.MustCompile(`(?i)([\w.-]*` + secretWords + `[\w.-]*["'\\]*[ \t]*(?:=|:(?:[ \t]|["'\\]|$))[ \t]*)([^\r\n]*)`)
	// A block, a list or a quotation that does not end with its line; or nothing.
	goesOn         = regexp.MustCompile(`^(?:[|>][-+0-9]*[ \t]*(?:#.*)?|[{\[][^}\]]*|"[^"]*|'[^']*)?$`)
	userOfURL      = regexp.MustCompile(`://\S*@`)
	secretManifest = regexp.MustCompile(`(?i)["'\\]*kind["'\\]*\s*:\s*["'\\]*\w*Secret(?:List)?\b`)
	// Of an object inside of another, a path does not tell the kind.
	insideSecret = regexp.MustCompile(`(?:^|[.\]])stringData(?:[.\[]|$)|\.data(?:[.\[]|$)`)
	privateKey   = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY`)
)

// isSecretName says whether a field or variable of this name holds what must not
// be shown, and not where it is to be found ("secretName", "PASSWORD_FILE").
func isSecretName(name string) bool {
	return secretName.MatchString(name) && !secretIsNamed.MatchString(name)
}

// maskPath is the path of a change without a value that names an item in it.
func maskPath(change FieldChange) string {
	for _, value := range []any{change.From, change.To} {
		if text, ok := value.(string); ok && text != "" && strings.Contains(change.Path, text) && maskText(text) != text {
			change.Path = strings.ReplaceAll(change.Path, text, Masked)
		}
	}
	return change.Path
}

// lastName is the name of the field that a path ends in.
func lastName(path string) string {
	if rest, ok := strings.CutSuffix(path, `"]`); ok {
		if at := strings.LastIndex(rest, `["`); at >= 0 {
			return rest[at+2:]
		}
	}
	if at := strings.LastIndexAny(path, ".]"); at >= 0 {
		return path[at+1:]
	}
	return path
}

// maskElsewhere hides what must not be shown of an object that is no Secret.
// path is that of the value, or its field's name alone.
func maskElsewhere(path string, value any) any {
	if strings.Contains(path, lastApplied) || insideSecret.MatchString(path) {
		return Masked
	}
	switch value := value.(type) {
	case map[string]any:
		// A Secret inside another object, as in a List.
		if kind, ok := value["kind"].(string); ok && strings.HasSuffix(strings.ToLower(kind), "secret") {
			return maskInSecret("", value)
		}
		result := make(map[string]any, len(value))
		for name, item := range value {
			result[name] = maskElsewhere(name, item)
		}
		// A variable of a container.
		if name, ok := value["name"].(string); ok && isSecretName(name) && value["value"] != nil {
			result["value"] = Masked
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = maskElsewhere("", item)
			// The argument after --password is one.
			if i > 0 {
				if flag, ok := value[i-1].(string); ok && strings.HasPrefix(flag, "-") && !strings.Contains(flag, "=") && isSecretName(flag) {
					result[i] = Masked
				}
			}
		}
		return result
	case string:
		if value == "" {
			return value
		}
		if variable := secretVariable.FindStringSubmatch(path); variable != nil && isSecretName(variable[1]) {
			return Masked
		}
		if isSecretName(lastName(path)) {
			return Masked
		}
		return maskText(value)
	default:
		return value
	}
}

// MaskMessage is a message about the object k, such as an error of the API
// server, without what it quotes of a Secret's content.
func MaskMessage(k Key, message string) string {
	if !secretive(k.Kind) {
		return maskText(message)
	}
	// What is quoted, and all after an announced value, may be one.
	cut := len(message)
	for _, mark := range []string{`"`, "'", "`", "Invalid value", "Unsupported value", "Duplicate value", "cannot unmarshal", "{", "="} {
		if at := strings.Index(message, mark); at >= 0 {
			cut = min(cut, at)
		}
	}
	if cut == len(message) {
		return message
	}
	return strings.TrimRight(message[:cut], " :,(") + " " + Masked
}

// maskText hides passwords, tokens and keys in a text that is none as a whole.
func maskText(text string) string {
	if isSecretText(text) || encodesSecret(text, 2) {
		return Masked
	}
	if strings.Contains(text, "://") {
		text = userOfURL.ReplaceAllString(text, "://"+Masked+"@")
	}
	if !mayName(text) {
		return text
	}
	for from := 0; ; {
		at := assignment.FindStringSubmatchIndex(text[from:])
		if at == nil {
			return text
		}
		begin, end := from+at[4], from+at[5]
		// An argument or a variable as a whole has one value.
		if head := text[:from+at[2]]; strings.Trim(head, "-CD") == "" && strings.Contains(text[from+at[2]:begin], "=") {
			return text[:begin] + Masked
		}
		// A value that begins on the line after it ends nobody knows where.
		if goesOn.MatchString(text[begin:end]) {
			if strings.TrimSpace(text[begin:]) == "" {
				return text
			}
			return text[:begin] + Masked
		}
		text = text[:begin] + Masked + text[end:]
		from = begin + len(Masked)
	}
}

// mayName says quickly that a text has no word of secretWords: most have none.
func mayName(text string) bool {
	lower := strings.ToLower(text)
	for _, part := range []string{"pass", "secret", "token", "credential", "key"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

// isSecretText says whether a text is a Secret's manifest or a private key.
func isSecretText(text string) bool {
	return mayName(text) && (secretManifest.MatchString(text) || privateKey.MatchString(text))
}

// encodesSecret says whether a text is base64 of a Secret's manifest or of a
// private key, however often it was encoded.
func encodesSecret(text string, depth int) bool {
	if depth == 0 || len(text) < 16 || strings.ContainsAny(text, `.:;,!?"'#@()[]{}<>|\*&%$~`+"`^") {
		return false
	}
	packed := strings.Join(strings.Fields(text), "")
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if raw, err := encoding.DecodeString(packed); err == nil {
			inner := string(raw)
			return isSecretText(inner) || encodesSecret(inner, depth-1)
		}
	}
	return false
}
