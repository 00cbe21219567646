package testbed

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
)

// Query asks the CrateDB at a pod's address, as a person with psql would, and
// gives the rows as text.
func (b *Testbed) Query(ctx context.Context, address, user, password, statement string, arguments ...any) ([][]string, error) {
	return b.QueryTLS(ctx, nil, address, user, password, statement, arguments...)
}

// QueryTLS is Query over TLS; without a configuration it is Query.
func (b *Testbed) QueryTLS(ctx context.Context, over *tls.Config, address, user, password, statement string, arguments ...any) ([][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	config, err := pgx.ParseConfig("postgres://" + url.UserPassword(user, password).String() + "@" + address + ":5432/doc?sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("reading the address %s", address)
	}
	config.TLSConfig = over
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, statement, arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]string
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, err
		}
		var row []string
		for _, value := range values {
			row = append(row, fmt.Sprint(value))
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
