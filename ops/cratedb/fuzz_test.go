package cratedb

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"stevedore.dev/stevedore/ops/model"
)

// answers makes a server's replies of a fuzzer's bytes: how many columns of
// which types, how many rows, and what is in them.
type answers struct{ data []byte }

func (a *answers) next() int {
	if len(a.data) == 0 {
		return 0
	}
	b := a.data[0]
	a.data = a.data[1:]
	return int(b)
}

func (a *answers) text() []byte {
	n := min(a.next()%64, len(a.data))
	text := a.data[:n]
	a.data = a.data[n:]
	return text
}

// words that CrateDB says, so that the fuzzer need not find them.
var words = [][]byte{
	nil, []byte("0"), []byte("-1"), []byte("9223372036854775807"), []byte("id-1"), []byte("data-hot-0"), []byte("6.4.3"), []byte("4.4.0"), []byte("x.y.z"),
	[]byte("GREEN"), []byte("YELLOW"), []byte("RED"), []byte("PURPLE"), []byte("STARTED"), []byte("RELOCATING"), []byte("UNASSIGNED"), []byte("INITIALIZING"),
	[]byte("t"), []byte("f"), []byte("doc"), []byte("t"), []byte(`{"exclude":{"_id":"id-1,id-2"},"enable":"all"}`), []byte(`{"zone":"a"}`),
	[]byte(`[{"node_name":"a","explanations":["b"]}]`), []byte("{"), []byte("null"), []byte("primaries"), []byte("0-all"), []byte("not recovered"), []byte(`{a,b}`),
}

var types = []uint32{25, 20, 16, 114, 23, 701, 1009, 1043, 705, 600}

// reply is one result. Without bytes left it is one row of the width that the
// reading wants, so that it goes on.
func (a *answers) reply() (columns []pgproto3.FieldDescription, rows [][][]byte) {
	width, count := a.next()%16, a.next()%8
	for i := range width {
		columns = append(columns, pgproto3.FieldDescription{Name: []byte("c" + strconv.Itoa(i)), DataTypeOID: types[a.next()%len(types)]})
	}
	for range count {
		row := make([][]byte, max(0, width-a.next()/250))
		for i := range row {
			if w := a.next(); w < 3*len(words) {
				row[i] = words[w%len(words)]
			} else {
				row[i] = a.text()
			}
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// fake speaks the PostgreSQL protocol as a server that means no good.
type fake struct {
	answers answers
	// announces fewer columns than its rows have, when it is not 0.
	announces int
}

func (*fake) Private() bool { return true }

func (f *fake) DialPod(context.Context, string, int) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go f.serve(theirs)
	return ours, nil
}

func (f *fake) serve(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if backend.Flush() != nil {
		return
	}
	selected := 0 // columns of the statement
	for first := true; ; {
		message, err := backend.Receive()
		if err != nil {
			return
		}
		if parse, ok := message.(*pgproto3.Parse); ok {
			selected = width(parse.Query)
		}
		if _, ok := message.(*pgproto3.Sync); !ok {
			if _, bye := message.(*pgproto3.Terminate); bye {
				return
			}
			continue
		}
		backend.Send(&pgproto3.ParseComplete{})
		backend.Send(&pgproto3.BindComplete{})
		columns, rows := f.answers.reply()
		if first && len(f.answers.data) > 0 && f.answers.data[0] < 250 {
			// A good beginning, so that the rest is read at all.
			columns, rows = nil, [][][]byte{nil}
			for range selected {
				columns = append(columns, pgproto3.FieldDescription{Name: []byte("c"), DataTypeOID: 25})
				rows[0] = append(rows[0], []byte("id-1"))
			}
		}
		first = false
		if f.announces > 0 {
			columns = columns[:min(f.announces, len(columns))]
		}
		backend.Send(&pgproto3.RowDescription{Fields: columns})
		for _, row := range rows {
			backend.Send(&pgproto3.DataRow{Values: row})
		}
		switch f.answers.next() {
		case 255:
			backend.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: string(f.answers.text()), Message: string(f.answers.text())})
		case 254:
			_ = backend.Flush()
			_, _ = conn.Write(f.answers.text()) // no message at all
			return
		default:
			backend.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
		}
		backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if backend.Flush() != nil {
			return
		}
	}
}

// observe reads a cluster whose one node answers with data.
func observe(data []byte) model.Database {
	f := &fake{answers: answers{data: bytes.Clone(data)}}
	return Client{Dialer: f, Timeout: 5 * time.Second}.Observe(context.Background(), Target{
		Pods: []PodRef{{Name: "pod-0", NodeName: "data-hot-0"}}, Password: "pw-system", Detailed: true,
		Settings: []string{"stats.enabled", "cluster.graceful_stop.timeout"},
	})
}

// wide is a reply of one row of n columns, all of the same word.
func wide(n, word int) []byte {
	reply := []byte{byte(n), 1}
	reply = append(reply, make([]byte, n)...) // types: text
	reply = append(reply, 0)                  // the row has all columns
	for range n {
		reply = append(reply, byte(word))
	}
	return append(reply, 0)
}

func FuzzReplies(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\xeb\xff\xff\x00"))
	for word := range words {
		var all []byte
		for _, n := range []int{5, 8, 9, 4, 5, 2, 5, 2, 3, 2, 7, 7, 8, 1, 1, 1} {
			all = append(all, wide(n, word)...)
		}
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		db := observe(data)
		if db.Contact == model.Yes && db.ClusterID == "" && len(db.Pods) > 1 {
			t.Fatal("more pods than were asked")
		}
	})
}
