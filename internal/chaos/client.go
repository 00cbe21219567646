package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
)

// client speaks to one node after the other, as an application behind a Service
// does: over HTTP, and over the PostgreSQL protocol with connections it keeps.
// Each goroutine has its own.
type client struct {
	http           *http.Client
	user, password string
	kept           map[string]*pgx.Conn
}

func newClient(shared *http.Client, user, password string) *client {
	return &client{http: shared, user: user, password: password, kept: map[string]*pgx.Conn{}}
}

// answer to a statement.
type answer struct {
	count int
	rows  [][]any
}

// close ends the connections.
func (c *client) close() {
	for address := range c.kept {
		c.drop(address)
	}
}

// hangUp bounds the end of a connection.
const hangUp = time.Second

func (c *client) drop(address string) {
	ctx, cancel := context.WithTimeout(context.Background(), hangUp)
	defer cancel()
	_ = c.kept[address].Close(ctx)
	delete(c.kept, address)
}

// overPostgres runs a statement on the node at the address.
func (c *client) overPostgres(ctx context.Context, address, statement string) (answer, error) {
	conn := c.kept[address]
	if conn == nil {
		config, err := pgx.ParseConfig("postgres://" + url.UserPassword(c.user, c.password).String() + "@" + address + ":5432/doc?sslmode=disable")
		if err != nil {
			return answer{}, fmt.Errorf("reading the address %s", address)
		}
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
		if conn, err = pgx.ConnectConfig(ctx, config); err != nil {
			return answer{}, err
		}
		c.kept[address] = conn
	}
	rows, err := conn.Query(ctx, statement)
	if err != nil {
		c.drop(address)
		return answer{}, err
	}
	var a answer
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			rows.Close()
			c.drop(address)
			return answer{}, err
		}
		a.rows = append(a.rows, values)
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		c.drop(address)
		return answer{}, err
	}
	a.count = int(rows.CommandTag().RowsAffected())
	return a, nil
}

// overHTTP does the same at /_sql.
func (c *client) overHTTP(ctx context.Context, address, statement string) (answer, error) {
	body, err := json.Marshal(map[string]string{"stmt": statement})
	if err != nil {
		return answer{}, err
	}
	response, err := c.send(ctx, http.MethodPost, address, "/_sql", body)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var said struct {
		Count int     `json:"rowcount"`
		Rows  [][]any `json:"rows"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	decoder := json.NewDecoder(response.Body)
	decoder.UseNumber()
	err = decoder.Decode(&said)
	switch {
	case said.Error != nil:
		return answer{}, errors.New(said.Error.Message)
	case response.StatusCode != http.StatusOK:
		return answer{}, fmt.Errorf("HTTP status %d", response.StatusCode)
	case err != nil:
		return answer{}, fmt.Errorf("reading the answer: %w", err)
	}
	return answer{count: said.Count, rows: said.Rows}, nil
}

// blob sends or asks for a blob, and gives the HTTP status.
func (c *client) blob(ctx context.Context, method, address, table, digest string, content []byte) (int, error) {
	response, err := c.send(ctx, method, address, "/_blobs/"+table+"/"+digest, content)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func (c *client) send(ctx context.Context, method, address, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+":4200"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(c.user, c.password)
	request.Header.Set("Content-Type", "application/json")
	return c.http.Do(request)
}

// newHTTP is what the clients share. A node sends the one who asks for a blob to
// the node that has it, and that one wants to know who asks, too.
func newHTTP(user, password string) *http.Client {
	return &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(request *http.Request, _ []*http.Request) error {
			request.SetBasicAuth(user, password)
			return nil
		},
	}
}
