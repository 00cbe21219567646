package cratesim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/cratesim/sql"
)

// What a node's process and the hub say to each other: one JSON value a line over a unix
// socket. A connection is either a node (its end is the node's end) or one client's session.
type frame struct {
	Op     string          `json:"op"`
	Spec   *model.NodeSpec `json:"spec,omitempty"`
	Node   int             `json:"node,omitempty"`
	Seeds  []string        `json:"seeds,omitempty"`
	Disks  []model.Disk    `json:"disks,omitempty"`
	Client *model.Client   `json:"client,omitempty"`
	Stmt   string          `json:"stmt,omitempty"`
	// Message is what the client has sent, where that is more than one statement.
	Message string   `json:"message,omitempty"`
	Args    []any    `json:"args,omitempty"`
	OIDs    []uint32 `json:"oids,omitempty"`
	Schema  bool     `json:"schema,omitempty"`
}

// The operations. start opens a node's connection, on which seeds, disks, stop follow; session
// opens a client's, on which hello, login, status, exec, describe follow.
const (
	opStart    = "start"
	opSeeds    = "seeds"
	opDisks    = "disks"
	opStop     = "stop"
	opSession  = "session"
	opHello    = "hello"
	opLogin    = "login"
	opStatus   = "status"
	opExec     = "exec"
	opDescribe = "describe"
)

type wireColumn struct {
	Name string `json:"name"`
	OID  uint32 `json:"oid"`
	Size int16  `json:"size"`
	Type any    `json:"type"`
}

type reply struct {
	Node   int           `json:"node,omitempty"`
	Volume *model.Volume `json:"volume,omitempty"`
	// Folders are the shards that lie on the volume.
	Folders *[]model.Folder `json:"folders,omitempty"`
	Refuse  string          `json:"refuse,omitempty"` // what CrateDB prints before it exits
	Stop    bool            `json:"stop,omitempty"`
	Gone    bool            `json:"gone,omitempty"` // the node's process has ended

	Error       *model.Error `json:"error,omitempty"`
	AskPassword bool         `json:"ask_password,omitempty"`
	Status      *nodeStatus  `json:"status,omitempty"`

	Columns  []wireColumn `json:"columns,omitempty"`
	HasRows  bool         `json:"has_rows,omitempty"`
	Rows     [][]any      `json:"rows,omitempty"`
	RowCount int          `json:"rowcount,omitempty"`
	Tag      string       `json:"tag,omitempty"`
	Params   []uint32     `json:"params,omitempty"`
}

// nodeStatus is what GET / shows.
type nodeStatus struct {
	Master      bool   `json:"master"`
	Name        string `json:"name"`
	ClusterName string `json:"cluster_name"`
	Version     string `json:"version"`
}

func wireColumns(cols []sql.Column) []wireColumn {
	out := make([]wireColumn, len(cols))
	for i, c := range cols {
		out[i] = wireColumn{c.Name, c.Type.OID, c.Type.Size, c.Type.ID}
	}
	return out
}

// conn is one connection in either direction.
type conn struct {
	net.Conn
	dec *json.Decoder
	enc *json.Encoder
}

func newConn(c net.Conn) *conn {
	dec := json.NewDecoder(bufio.NewReader(c))
	dec.UseNumber() // or a bigint would come out as a float
	enc := json.NewEncoder(c)
	enc.SetEscapeHTML(false)
	return &conn{c, dec, enc}
}

// hubTimeout bounds an answer of the hub: the longest that CrateDB holds a statement, and
// then some.
const hubTimeout = 2 * time.Hour

func (c *conn) ask(f frame) (*reply, error) {
	if err := c.SetDeadline(time.Now().Add(hubTimeout)); err != nil {
		return nil, fmt.Errorf("ask the hub: %w", err)
	}
	if err := c.enc.Encode(f); err != nil {
		return nil, fmt.Errorf("ask the hub: %w", err)
	}
	var r reply
	if err := c.dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("read the hub's answer: %w", err)
	}
	return &r, nil
}

func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrUnexpectedEOF)
}

// plain turns what a JSON decoder with numbers made into the values of package sql.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = plain(v[k])
		}
		return out
	}
	return v
}

func plainAll(args []any) []any {
	out := make([]any, len(args))
	for i := range args {
		out[i] = plain(args[i])
	}
	return out
}
