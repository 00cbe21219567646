package cratesim

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/cratesim/sql"
	"stevedore.dev/stevedore/internal/password"
)

// pgSession is one client of the PostgreSQL protocol.
type pgSession struct {
	n       *node
	hub     *conn
	be      *pgproto3.Backend
	client  model.Client
	stmts   map[string]*prepared
	portals map[string]*portal
	failed  bool // an extended-protocol error: everything until Sync is skipped
}

type prepared struct {
	text    string
	params  []uint32
	columns []wireColumn
	hasRows bool
}

type portal struct {
	stmt    *prepared
	args    []any
	formats []int16
	result  *reply
	sent    int
}

// errSessionOver ends a connection whose node has ended.
var errSessionOver = errors.New("the node has ended")

func (n *node) servePostgres(_ context.Context, c net.Conn) {
	s := &pgSession{n: n, be: pgproto3.NewBackend(c, c), stmts: map[string]*prepared{}, portals: map[string]*portal{}}
	hub, err := n.session()
	if err != nil {
		return
	}
	s.hub = hub
	defer func() { _ = hub.Close() }()
	if !s.start(c) {
		return
	}
	for {
		msg, err := s.be.Receive()
		if err != nil {
			return
		}
		if _, ok := msg.(*pgproto3.Terminate); ok {
			return
		}
		if err := s.handle(msg); err != nil {
			return
		}
	}
}

// start brings a client from the first byte to ReadyForQuery.
func (s *pgSession) start(c net.Conn) bool {
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	defer func() { _ = c.SetDeadline(time.Time{}) }()
	for {
		msg, err := s.be.ReceiveStartupMessage()
		if err != nil {
			return false
		}
		switch m := msg.(type) {
		case *pgproto3.SSLRequest:
			if _, encrypted := c.(*tls.Conn); s.n.psqlTLS == nil || encrypted {
				if _, err := c.Write([]byte("N")); err != nil {
					return false
				}
				continue
			}
			if _, err := c.Write([]byte("S")); err != nil {
				return false
			}
			secured := tls.Server(c, s.n.psqlTLS)
			if secured.Handshake() != nil {
				return false
			}
			c = secured
			s.be = pgproto3.NewBackend(c, c)
		case *pgproto3.GSSEncRequest:
			if _, err := c.Write([]byte("N")); err != nil {
				return false
			}
		case *pgproto3.CancelRequest:
			return false // accepted; nothing runs long enough to cancel
		case *pgproto3.StartupMessage:
			return s.authenticate(c, m.Parameters["user"])
		}
	}
}

func (s *pgSession) authenticate(c net.Conn, user string) bool {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	_, encrypted := c.(*tls.Conn)
	s.client = model.Client{User: user, Address: host, Protocol: model.PG, TLS: encrypted}
	r, err := s.hub.ask(frame{Op: opHello, Client: &s.client})
	if err != nil || r.Gone {
		return false
	}
	if r.Error == nil && r.AskPassword {
		s.be.Send(&pgproto3.AuthenticationCleartextPassword{})
		if s.be.Flush() != nil || s.be.SetAuthType(pgproto3.AuthTypeCleartextPassword) != nil {
			return false
		}
		msg, err := s.be.Receive()
		if err != nil {
			return false
		}
		pw, ok := msg.(*pgproto3.PasswordMessage)
		if !ok {
			return false
		}
		s.client.Password = pw.Password
		if password.TooLong(pw.Password) {
			// CrateDB compares it with the NULs that it has read behind it.
			s.client.Password += "\x00"
		}
	}
	if r.Error == nil {
		if r, err = s.hub.ask(frame{Op: opLogin, Client: &s.client}); err != nil || r.Gone {
			return false
		}
	}
	if r.Error != nil {
		s.sendError(r.Error)
		_ = s.be.Flush()
		return false
	}
	s.be.Send(&pgproto3.AuthenticationOk{})
	for _, p := range [][2]string{
		{"crate_version", s.n.spec.Version.String()}, {"server_version", "14.0"}, {"server_encoding", "UTF8"}, {"client_encoding", "UTF8"},
		{"datestyle", "ISO"}, {"TimeZone", "UTC"}, {"integer_datetimes", "on"}, {"standard_conforming_strings", "on"},
	} {
		s.be.Send(&pgproto3.ParameterStatus{Name: p[0], Value: p[1]})
	}
	s.be.Send(&pgproto3.BackendKeyData{ProcessID: uint32(s.n.key), SecretKey: []byte{0, 0, 0, 1}})
	return s.ready('I') == nil
}

func (s *pgSession) ready(status byte) error {
	s.be.Send(&pgproto3.ReadyForQuery{TxStatus: status})
	return s.be.Flush()
}

func (s *pgSession) sendError(e *model.Error) {
	severity := "ERROR"
	if e.Fatal {
		severity = "FATAL"
	}
	state := e.SQLState
	if state == "" {
		state = "XX000"
	}
	s.be.Send(&pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: state, Message: e.PostgresMessage()})
}

func (s *pgSession) ask(f frame) (*reply, error) {
	r, err := s.hub.ask(f)
	if err != nil {
		return nil, err
	}
	if r.Gone {
		return nil, errSessionOver
	}
	return r, nil
}

func (s *pgSession) handle(msg pgproto3.FrontendMessage) error {
	if _, isSync := msg.(*pgproto3.Sync); s.failed && !isSync {
		if _, isQuery := msg.(*pgproto3.Query); !isQuery {
			return nil
		}
	}
	switch m := msg.(type) {
	case *pgproto3.Query:
		s.failed = false
		return s.simpleQuery(m.String)
	case *pgproto3.Parse:
		return s.parse(m)
	case *pgproto3.Bind:
		return s.bind(m)
	case *pgproto3.Describe:
		return s.describe(m)
	case *pgproto3.Execute:
		return s.execute(m)
	case *pgproto3.Close:
		if m.ObjectType == 'S' {
			delete(s.stmts, m.Name)
		} else {
			delete(s.portals, m.Name)
		}
		s.be.Send(&pgproto3.CloseComplete{})
		return nil
	case *pgproto3.Flush:
		return s.be.Flush()
	case *pgproto3.Sync:
		status := byte('I')
		if s.failed {
			status = 'E' // as CrateDB answers; pgxpool drops such a connection
		}
		s.failed = false
		clear(s.portals)
		return s.ready(status)
	}
	s.fail(&model.Error{Message: "unsupported message of the PostgreSQL protocol", SQLState: "08P01"})
	return nil
}

func (s *pgSession) fail(e *model.Error) {
	s.failed = true
	s.sendError(e)
}

func (s *pgSession) simpleQuery(text string) error {
	statements, message := sql.Split(text), ""
	if len(statements) > 1 {
		message = text
	}
	for _, stmt := range statements {
		if strings.TrimSpace(stmt) == "" && len(statements) == 1 && s.n.spec.Version.AtLeast(6, 3) {
			s.be.Send(&pgproto3.EmptyQueryResponse{})
			break
		}
		r, err := s.ask(frame{Op: opExec, Stmt: stmt, Message: message})
		if err != nil {
			return err
		}
		if r.Error != nil {
			s.sendError(r.Error)
			break
		}
		if r.HasRows {
			s.be.Send(rowDescription(r.Columns, nil))
			s.sendRows(r, nil, 0, len(r.Rows))
		}
		if r.Tag == "EMPTY" {
			s.be.Send(&pgproto3.EmptyQueryResponse{})
		} else {
			s.be.Send(&pgproto3.CommandComplete{CommandTag: []byte(r.Tag)})
		}
	}
	return s.ready('I')
}

func (s *pgSession) parse(m *pgproto3.Parse) error {
	r, err := s.ask(frame{Op: opDescribe, Stmt: m.Query, OIDs: m.ParameterOIDs})
	if err != nil {
		return err
	}
	if r.Error != nil {
		s.fail(r.Error)
		return nil
	}
	s.stmts[m.Name] = &prepared{text: m.Query, params: r.Params, columns: r.Columns, hasRows: r.HasRows}
	s.be.Send(&pgproto3.ParseComplete{})
	return nil
}

func (s *pgSession) bind(m *pgproto3.Bind) error {
	st := s.stmts[m.PreparedStatement]
	if st == nil {
		s.fail(&model.Error{Message: "No statement found with name: " + m.PreparedStatement, SQLState: "26000"})
		return nil
	}
	p := &portal{stmt: st, formats: append([]int16(nil), m.ResultFormatCodes...)}
	for i, raw := range m.Parameters {
		format := int16(0)
		switch len(m.ParameterFormatCodes) {
		case 0:
		case 1:
			format = m.ParameterFormatCodes[0]
		default:
			format = m.ParameterFormatCodes[i]
		}
		oid := uint32(1043)
		if i < len(st.params) {
			oid = st.params[i]
		}
		v, err := decodeParam(oid, format, raw)
		if err != nil {
			s.fail(err)
			return nil
		}
		p.args = append(p.args, v)
	}
	s.portals[m.DestinationPortal] = p
	s.be.Send(&pgproto3.BindComplete{})
	return nil
}

func (s *pgSession) describe(m *pgproto3.Describe) error {
	if m.ObjectType == 'S' {
		st := s.stmts[m.Name]
		if st == nil {
			s.fail(&model.Error{Message: "No statement found with name: " + m.Name, SQLState: "26000"})
			return nil
		}
		s.be.Send(&pgproto3.ParameterDescription{ParameterOIDs: st.params})
		s.sendColumns(st, nil)
		return nil
	}
	p := s.portals[m.Name]
	if p == nil {
		s.fail(&model.Error{Message: "No portal found with name: " + m.Name, SQLState: "34000"})
		return nil
	}
	s.sendColumns(p.stmt, p.formats)
	return nil
}

func (s *pgSession) sendColumns(st *prepared, formats []int16) {
	if !st.hasRows {
		s.be.Send(&pgproto3.NoData{})
		return
	}
	s.be.Send(rowDescription(st.columns, formats))
}

func (s *pgSession) execute(m *pgproto3.Execute) error {
	p := s.portals[m.Portal]
	if p == nil {
		s.fail(&model.Error{Message: "No portal found with name: " + m.Portal, SQLState: "34000"})
		return nil
	}
	if p.result == nil {
		r, err := s.ask(frame{Op: opExec, Stmt: p.stmt.text, Args: p.args})
		if err != nil {
			return err
		}
		if r.Error != nil {
			s.fail(r.Error)
			return nil
		}
		// The types that the client was told of bind, not what the values turned out to be.
		if len(p.stmt.columns) == len(r.Columns) {
			r.Columns = p.stmt.columns
		}
		p.result = r
	}
	r := p.result
	if r.Tag == "EMPTY" {
		s.be.Send(&pgproto3.EmptyQueryResponse{})
		return nil
	}
	end := len(r.Rows)
	if m.MaxRows > 0 {
		end = min(end, p.sent+int(m.MaxRows))
	}
	s.sendRows(r, p.formats, p.sent, end)
	p.sent = end
	if end < len(r.Rows) {
		s.be.Send(&pgproto3.PortalSuspended{})
		return nil
	}
	s.be.Send(&pgproto3.CommandComplete{CommandTag: []byte(r.Tag)})
	return nil
}

func formatOf(formats []int16, i int) int16 {
	switch {
	case len(formats) == 0:
		return 0
	case len(formats) == 1:
		return formats[0]
	case i < len(formats):
		return formats[i]
	}
	return 0
}

func rowDescription(cols []wireColumn, formats []int16) *pgproto3.RowDescription {
	d := &pgproto3.RowDescription{}
	for i, c := range cols {
		d.Fields = append(d.Fields, pgproto3.FieldDescription{
			Name: []byte(c.Name), DataTypeOID: c.OID, DataTypeSize: c.Size, TypeModifier: -1, Format: formatOf(formats, i),
		})
	}
	return d
}

func (s *pgSession) sendRows(r *reply, formats []int16, from, to int) {
	for _, row := range r.Rows[from:to] {
		d := &pgproto3.DataRow{}
		for i, v := range row {
			d.Values = append(d.Values, encodeValue(r.Columns[i].OID, formatOf(formats, i), plain(v)))
		}
		s.be.Send(d)
	}
}
