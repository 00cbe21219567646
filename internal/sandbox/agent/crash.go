package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// crashOptions are those of the command line client of CrateDB, crash, that
// matter without a terminal.
type crashOptions struct {
	statement, user, schema, format string
	hasStatement                    bool
	hosts                           []string
}

var crashFormats = []string{"tabular", "json", "csv", "raw", "mixed", "dynamic", "json_row"}

// crash is the agent's own crash: statements from -c or standard input, sent
// over HTTP from the pod's own address. As the real one it goes on after a
// statement that failed, writes results to standard output and messages to
// standard error, and exits with 1 if any failed.
func crash(ctx context.Context, i *invocation) int {
	o, err := i.crashOptions()
	if err != nil {
		fmt.Fprintf(i.Err, "usage: crash [-c STATEMENT] [--hosts HOSTS] [--format FORMAT] [-U USERNAME]\ncrash: error: %v\n", err)
		return 2
	}
	base, err := i.crashServer(o.hosts)
	if err != nil {
		return i.fail(1, "%v", err)
	}
	if !o.hasStatement {
		content, err := io.ReadAll(i.In)
		if err != nil {
			return i.fail(1, "reading statements: %v", err)
		}
		o.statement = string(content)
	}
	// A CrateDB with TLS has a certificate for its names, not for loopback.
	client := httpClient(i.container.worker.inside(), &tls.Config{InsecureSkipVerify: true})
	code := 0
	for at, statement := range splitStatements(o.statement) {
		if !i.crashStatement(ctx, client, base, o, statement, at == 0) {
			code = 1
		}
	}
	return code
}

func (i *invocation) crashOptions() (crashOptions, error) {
	o := crashOptions{format: "tabular"}
	args := i.args[1:]
	for len(args) > 0 {
		name, value, given := strings.Cut(args[0], "=")
		args = args[1:]
		if len(name) > 2 && name[0] == '-' && name[1] != '-' && !given {
			name, value, given = name[:2], name[2:], true // -cSTATEMENT
		}
		var values []string
		if given {
			values = []string{value}
		} else {
			for len(args) > 0 && !strings.HasPrefix(args[0], "-") && (len(values) == 0 || name == "--hosts") {
				values = append(values, args[0])
				args = args[1:]
			}
		}
		one := func(into *string) error {
			if len(values) == 0 {
				return fmt.Errorf("argument %s: expected one argument", name)
			}
			*into = values[0]
			return nil
		}
		var err error
		switch name {
		case "-c", "--command":
			// A statement may begin with a dash, as comments do.
			if len(values) == 0 && len(args) > 0 {
				values, args = args[:1], args[1:]
			}
			o.hasStatement = true
			err = one(&o.statement)
		case "-U", "--username":
			err = one(&o.user)
		case "--schema":
			err = one(&o.schema)
		case "--format":
			if err = one(&o.format); err == nil && !strings.Contains(" "+strings.Join(crashFormats, " ")+" ", " "+o.format+" ") {
				err = fmt.Errorf("argument --format: invalid choice: %q (choose from %s)", o.format, strings.Join(crashFormats, ", "))
			}
		case "--hosts":
			o.hosts = values
		case "--timeout", "--verify-ssl", "--history", "--config", "--ca-cert-file":
		case "-v", "--verbose", "-A", "--no-autocomplete", "-a", "--autocapitalize":
			if !given && len(values) > 0 {
				err = fmt.Errorf("unrecognized arguments: %s", values[0])
			}
		default:
			err = fmt.Errorf("unrecognized arguments: %s", name)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

// crashServer is the URL of the first host, which has to be the pod itself or
// another one.
func (i *invocation) crashServer(hosts []string) (*url.URL, error) {
	text := "localhost:4200"
	if len(hosts) > 0 {
		text = hosts[0]
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the host %q: %w", text, err)
	}
	port := parsed.Port()
	if port == "" {
		port = "4200"
	}
	name := parsed.Hostname()
	if name == "" {
		name = "localhost"
	}
	host, ok := i.container.ownHost(name)
	if !ok {
		return nil, fmt.Errorf("the sandbox reaches only its own pods, not %s", name)
	}
	return &url.URL{Scheme: parsed.Scheme, Host: net.JoinHostPort(host, port)}, nil
}

// sqlAnswer is what /_sql answers.
type sqlAnswer struct {
	Cols     []string            `json:"cols"`
	Rows     [][]json.RawMessage `json:"rows"`
	RowCount int64               `json:"rowcount"`
	Duration float64             `json:"duration"`
	Error    *struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	} `json:"error"`
}

func (i *invocation) crashStatement(ctx context.Context, client *http.Client, base *url.URL, o crashOptions, statement string, first bool) bool {
	body, _ := json.Marshal(map[string]string{"stmt": statement}) // strings always encode
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath("_sql").String(), bytes.NewReader(body))
	if err != nil {
		fmt.Fprintln(i.Err, err)
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	if o.schema != "" {
		request.Header.Set("Default-Schema", o.schema)
	}
	if o.user != "" {
		password, _ := i.lookup("CRATEPW")
		request.SetBasicAuth(o.user, password)
	}
	response, err := client.Do(request)
	if err != nil {
		if first {
			fmt.Fprintln(i.Err, "CONNECT ERROR")
		}
		fmt.Fprintf(i.Err, "Server not available, exception: %v\nUse \\connect <server> to connect to one or more servers first.\n", err)
		return false
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		fmt.Fprintf(i.Err, "Server not available, exception: %v\n", err)
		return false
	}
	var answer sqlAnswer
	if err := json.Unmarshal(content, &answer); err != nil {
		fmt.Fprintf(i.Err, "%d Client Error: %s\n", response.StatusCode, strings.TrimSpace(string(content)))
		return false
	}
	if first && response.StatusCode != http.StatusUnauthorized {
		fmt.Fprintln(i.Err, "CONNECT OK")
	}
	if answer.Error != nil || response.StatusCode >= 400 {
		message := response.Status
		if answer.Error != nil {
			message = answer.Error.Message
		}
		fmt.Fprintln(i.Err, message)
		return false
	}
	command := strings.ToUpper(firstWord(statement))
	plural := "s"
	if answer.RowCount == 1 {
		plural = ""
	}
	if len(answer.Cols) == 0 {
		fmt.Fprintf(i.Err, "%s OK, %d row%s affected (%.3f sec)\n", command, answer.RowCount, plural, answer.Duration/1000)
		return true
	}
	i.crashResult(o.format, &answer)
	fmt.Fprintf(i.Err, "%s %d row%s in set (%.3f sec)\n", command, answer.RowCount, plural, answer.Duration/1000)
	return true
}

func firstWord(statement string) string {
	end := strings.IndexFunc(statement, func(r rune) bool { return r < 'A' || r > 'Z' && r < 'a' || r > 'z' })
	if end < 0 {
		end = len(statement)
	}
	return statement[:end]
}

func (i *invocation) crashResult(format string, answer *sqlAnswer) {
	var out bytes.Buffer
	switch format {
	case "json":
		var rows []string
		for _, row := range answer.Rows {
			rows = append(rows, jsonObject(answer.Cols, row))
		}
		_ = json.Indent(&out, []byte("["+strings.Join(rows, ",")+"]"), "", "  ")
		out.WriteString("\n")
	case "json_row":
		for _, row := range answer.Rows {
			out.WriteString(jsonObject(answer.Cols, row) + "\n")
		}
	case "raw":
		raw, _ := json.MarshalIndent(map[string]any{ // made of what was decoded
			"rows": answer.Rows, "cols": answer.Cols, "rowcount": answer.RowCount, "duration": answer.Duration / 1000,
		}, "", "  ")
		out.Write(append(raw, '\n'))
	case "csv":
		writer := csv.NewWriter(&out)
		_ = writer.Write(answer.Cols)
		for _, row := range answer.Rows {
			_ = writer.Write(shown(row))
		}
		writer.Flush()
	default:
		table(&out, answer)
	}
	_, _ = out.WriteTo(i.Out)
}

// jsonObject keeps the order of the columns and the digits of the numbers.
func jsonObject(columns []string, row []json.RawMessage) string {
	var fields []string
	for at, column := range columns {
		name, _ := json.Marshal(column) // strings always encode
		if at < len(row) {
			fields = append(fields, string(name)+": "+string(row[at]))
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// shown are a row's values as a person reads them.
func shown(row []json.RawMessage) []string {
	var texts []string
	for _, value := range row {
		text := string(value)
		var decoded any
		if json.Unmarshal(value, &decoded) == nil {
			switch decoded := decoded.(type) {
			case nil:
				text = "NULL"
			case string:
				text = decoded
			case bool:
				text = strings.ToUpper(text)
			}
		}
		texts = append(texts, text)
	}
	return texts
}

func table(out io.Writer, answer *sqlAnswer) {
	lines := [][]string{answer.Cols}
	for _, row := range answer.Rows {
		lines = append(lines, shown(row))
	}
	widths := make([]int, len(answer.Cols))
	for _, line := range lines {
		for at, text := range line {
			if at < len(widths) {
				widths[at] = max(widths[at], utf8.RuneCountInString(text))
			}
		}
	}
	var rule strings.Builder
	for _, width := range widths {
		rule.WriteString("+" + strings.Repeat("-", width+2))
	}
	rule.WriteString("+\n")
	print := func(line []string) {
		for at, text := range line {
			fmt.Fprintf(out, "| %s%s ", text, strings.Repeat(" ", widths[at]-utf8.RuneCountInString(text)))
		}
		_, _ = io.WriteString(out, "|\n")
	}
	_, _ = io.WriteString(out, rule.String())
	print(lines[0])
	_, _ = io.WriteString(out, rule.String())
	for _, line := range lines[1:] {
		print(line)
	}
	_, _ = io.WriteString(out, rule.String())
}

// splitStatements splits a script at its semicolons, not at those inside quotes,
// dollar quotes or comments. Pieces without a statement are dropped.
func splitStatements(script string) []string {
	var statements []string
	begin, blank := 0, true
	end := func(at int) {
		if !blank {
			statements = append(statements, strings.TrimSpace(script[begin:at]))
		}
		begin, blank = at+1, true
	}
	skip := func(at int, closing string) int {
		if length := strings.Index(script[at:], closing); length >= 0 {
			return at + length + len(closing) - 1
		}
		return len(script) - 1
	}
	for at := 0; at < len(script); at++ {
		rest := script[at:]
		switch c := script[at]; {
		case strings.HasPrefix(rest, "--"):
			at = skip(at, "\n")
		case strings.HasPrefix(rest, "/*"):
			at = skip(at+2, "*/")
		case c == '\'' || c == '"':
			blank = false
			at = skip(at+1, string(c))
		case strings.HasPrefix(rest, "$$"):
			blank = false
			at = skip(at+2, "$$")
		case c == ';':
			end(at)
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			blank = false
		}
	}
	if begin < len(script) {
		end(len(script))
	}
	return statements
}
