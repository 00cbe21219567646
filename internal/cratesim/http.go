package cratesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

func (n *node) httpHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Every path passes host-based authentication.
		hub, ok := n.login(w, r)
		if !ok {
			return
		}
		defer func() { _ = hub.Close() }()
		switch {
		case r.URL.Path == "/_sql":
			n.serveSQL(w, r, hub)
		case r.URL.Path == "/":
			n.serveRoot(w, hub)
		case strings.HasPrefix(r.URL.Path, "/_blobs/"):
			n.serveBlobs(w, r, hub)
		default:
			http.NotFound(w, r)
		}
	})
}

// login opens the request's session at the hub, or answers itself.
func (n *node) login(w http.ResponseWriter, r *http.Request) (*conn, bool) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	client := model.Client{Address: host, Protocol: model.HTTP, TLS: r.TLS != nil}
	user, password, basic := r.BasicAuth()
	if !basic {
		user = n.spec.Settings["auth.trust.http_default_user"]
		if user == "" {
			user = model.Superuser
		}
		if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			client.Credential = "jwt"
		}
	}
	client.User, client.Password = user, password
	hub, err := n.session()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil, false
	}
	res, err := hub.ask(frame{Op: opLogin, Client: &client})
	switch {
	case err != nil || res.Gone:
		disconnected(w, n)
	case res.Error != nil:
		w.Header().Set("WWW-Authenticate", `Basic realm="CrateDB Authenticator"`)
		w.Header().Set("Connection", "close")
		http.Error(w, res.Error.Message, http.StatusUnauthorized)
	default:
		return hub, true
	}
	_ = hub.Close()
	return nil, false
}

func disconnected(w http.ResponseWriter, n *node) {
	http.Error(w, fmt.Sprintf("[%s][%s:%d][sql] disconnected", n.spec.Name, n.spec.Address, n.spec.TransportPort), http.StatusInternalServerError)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

func (n *node) serveRoot(w http.ResponseWriter, hub *conn) {
	res, err := hub.ask(frame{Op: opStatus})
	if err != nil || res.Status == nil {
		disconnected(w, n)
		return
	}
	status := http.StatusOK
	if !res.Status.Master {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, map[string]any{
		"ok": status == http.StatusOK, "status": status, "name": res.Status.Name, "cluster_name": res.Status.ClusterName,
		"version": map[string]any{
			"number": res.Status.Version, "build_hash": strings.Repeat("0", 40), "build_timestamp": "NA",
			"build_snapshot": false, "lucene_version": "10.3.2",
		},
	})
}

type sqlRequest struct {
	Stmt     string  `json:"stmt"`
	Args     []any   `json:"args"`
	BulkArgs [][]any `json:"bulk_args"`
}

func (n *node) serveSQL(w http.ResponseWriter, r *http.Request, hub *conn) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	fail := func(e *model.Error) {
		status := e.HTTP
		if status == 0 {
			status = http.StatusInternalServerError
		}
		writeJSON(w, status, map[string]any{"error": map[string]any{"message": e.HTTPMessage(), "code": e.Code}})
	}
	var req sqlRequest
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<20))
	dec.UseNumber()
	if err := dec.Decode(&req); err != nil {
		fail(model.ErrParse("Failed to parse source [%s]", err))
		return
	}
	if req.Stmt == "" {
		fail(model.ErrParse("missing request body"))
		return
	}
	begin := time.Now()
	took := func() float64 { return float64(time.Since(begin).Microseconds()) / 1000 }
	if req.BulkArgs != nil {
		results := []any{}
		for _, args := range req.BulkArgs {
			res, err := hub.ask(frame{Op: opExec, Stmt: req.Stmt, Args: args})
			switch {
			case err != nil || res.Gone:
				disconnected(w, n)
				return
			case res.Error != nil && res.Error.Code != 4091:
				fail(res.Error)
				return
			case res.Error != nil:
				results = append(results, map[string]any{"rowcount": -2})
			default:
				results = append(results, map[string]any{"rowcount": res.RowCount})
			}
		}
		writeJSON(w, http.StatusOK, map[string]any{"cols": []string{}, "duration": took(), "results": results})
		return
	}
	res, err := hub.ask(frame{Op: opExec, Stmt: req.Stmt, Args: req.Args})
	switch {
	case err != nil || res.Gone:
		disconnected(w, n)
		return
	case res.Error != nil:
		fail(res.Error)
		return
	}
	cols, types, rows := []string{}, []any{}, res.Rows
	for _, c := range res.Columns {
		cols = append(cols, c.Name)
		types = append(types, c.Type)
	}
	if rows == nil {
		rows = [][]any{}
	}
	body := map[string]any{"cols": cols, "rows": rows, "rowcount": res.RowCount, "duration": took()}
	if !res.HasRows {
		// A statement without rows still has one empty row for old clients.
		body["rows"] = [][]any{{}}
	}
	if r.URL.Query().Has("types") {
		body["col_types"] = types
	}
	writeJSON(w, http.StatusOK, body)
}
