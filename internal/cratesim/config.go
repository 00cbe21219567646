package cratesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// NodeConfig is a CrateDB process to simulate.
type NodeConfig struct {
	Hub     string   // unix socket of the hub
	Address string   // loopback address of this node, e.g. 127.3.0.5
	Args    []string // what follows `crate`, expanded: -Ccluster.name=…
	Version string   // of CrateDB, from the image's tag
	Env     []string // KEY=VALUE; CRATE_HEAP_SIZE counts
	// SeedHosts are addresses of peers, as the SRV record would answer; SeedFile, one
	// address a line, is read again each second, so that later pods are found. With
	// neither, every node of the same cluster.name is found.
	SeedHosts []string
	SeedFile  string
	// DataDir takes the place of the first folder of -Cpath.data, which names a path inside
	// a container. "" uses path.data itself.
	DataDir string
	// Volumes is the folder of the volumes on which path.data lies, each with its SizeFile;
	// "": the size of the disk does not come from there.
	Volumes string
	// RepositoryFolders are the folders of this machine that paths of path.repo, inside of a
	// container, stand for; one that is not there stands for itself.
	RepositoryFolders map[string]string
}

// ErrRefused is a start that CrateDB itself would refuse, in its words.
var ErrRefused = errors.New("the simulated CrateDB refused to start")

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// parseArgs reads -Cname=value and -C name=value.
func parseArgs(args []string) (map[string]string, error) {
	out := map[string]string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "-v" || a == "-d" || a == "crate" && i == 0 {
			continue
		}
		kv, ok := strings.CutPrefix(a, "-C")
		if !ok {
			return nil, refused("ERROR: %s is not a recognized option", a)
		}
		if kv == "" {
			if i++; i >= len(args) {
				return nil, refused("ERROR: Option C/E requires an argument")
			}
			kv = args[i]
		}
		k, v, ok := strings.Cut(kv, "=")
		if !ok || v == "" {
			return nil, refused("ERROR: setting [%s] must not be empty", k)
		}
		if old, dup := out[k]; dup && old != v {
			return nil, refused("ERROR: setting [%s] already set, saw [%s] and [%s]", k, old, v)
		}
		out[k] = v
	}
	return out, nil
}

// identity is the file under path.data that makes a volume the same node again.
type identity struct {
	DataID    string `json:"data_id"`
	NodeID    string `json:"node_id,omitempty"`
	ClusterID string `json:"cluster_id,omitempty"`
	Version   string `json:"version,omitempty"`
}

const identityFile = "cratesim.json"

func readIdentity(dir string) (identity, error) {
	b, err := os.ReadFile(filepath.Join(dir, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return identity{DataID: fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())}, nil
	}
	if err != nil {
		return identity{}, fmt.Errorf("read the node's identity: %w", err)
	}
	var id identity
	if err := json.Unmarshal(b, &id); err != nil || id.DataID == "" {
		return identity{}, refused("java.io.IOException: failed to read %s: the volume is damaged", filepath.Join(dir, identityFile))
	}
	return id, nil
}

// writeIdentity replaces the file in one step: a kill must not leave half of it.
func writeIdentity(dir string, id identity) error {
	b, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("write the node's identity: %w", err)
	}
	tmp := filepath.Join(dir, identityFile+".new")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write the node's identity: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, identityFile)); err != nil {
		return fmt.Errorf("write the node's identity: %w", err)
	}
	return nil
}

// spec turns the configuration into what the model starts.
func (cfg NodeConfig) spec() (model.NodeSpec, string, error) {
	var spec model.NodeSpec
	settings, err := parseArgs(cfg.Args)
	if err != nil {
		return spec, "", err
	}
	if err := model.CheckStartSettings(settings); err != nil {
		return spec, "", refused("%s", err)
	}
	version, err := model.ParseVersion(cfg.Version)
	if err != nil {
		return spec, "", err
	}
	if err := cfg.resolve(settings); err != nil {
		return spec, "", err
	}
	if v := settings["ssl.transport.mode"]; v == "on" {
		return spec, "", refused("ssl.transport.mode=%s: simulated nodes talk through the hub and know no TLS between them; run a real CrateDB", v)
	}
	dir := cfg.DataDir
	if dir == "" {
		dir, _, _ = strings.Cut(settings["path.data"], ",")
	}
	if dir == "" {
		return spec, "", errors.New("start a simulated CrateDB node: neither a data folder nor -Cpath.data is given")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return spec, "", fmt.Errorf("make the data folder: %w", err)
	}
	id, err := readIdentity(dir)
	if err != nil {
		return spec, "", err
	}
	spec = model.NodeSpec{
		Name: settings["node.name"], ClusterName: settings["cluster.name"], Address: cfg.Address, DataID: id.DataID,
		VolumeClusterID: id.ClusterID, VolumeNodeID: id.NodeID, Version: version, Settings: settings,
		Master: settings["node.master"] != "false", Data: settings["node.data"] != "false", Attributes: map[string]string{},
		HTTPPort: 4200, PSQLPort: 5432, TransportPort: 4300, RepositoryFolders: cfg.RepositoryFolders,
	}
	if id.Version != "" {
		if spec.VolumeVersion, err = model.ParseVersion(id.Version); err != nil {
			return spec, "", refused("%s: %s", identityFile, err)
		}
	}
	if spec.Name == "" {
		spec.Name = "node-" + cfg.Address
	}
	if spec.ClusterName == "" {
		spec.ClusterName = "crate"
	}
	for k, v := range settings {
		if a, ok := strings.CutPrefix(k, "node.attr."); ok {
			spec.Attributes[a] = v
		}
	}
	for name, port := range map[string]*int{"http.port": &spec.HTTPPort, "psql.port": &spec.PSQLPort, "transport.port": &spec.TransportPort, "transport.tcp.port": &spec.TransportPort} {
		if v := settings[name]; v != "" {
			first, _, _ := strings.Cut(v, "-")
			if *port, err = strconv.Atoi(first); err != nil {
				return spec, "", refused("java.lang.IllegalArgumentException: Failed to parse value [%s] for setting [%s]", v, name)
			}
		}
	}
	for _, e := range cfg.Env {
		if v, ok := strings.CutPrefix(e, "CRATE_HEAP_SIZE="); ok {
			spec.HeapBytes = heapBytes(v)
		}
	}
	if spec.Seeds, err = cfg.seeds(); err != nil {
		return spec, "", err
	}
	return spec, dir, nil
}

func heapBytes(v string) int64 {
	shift := 0
	if v != "" {
		if i := strings.IndexByte("kmgt", v[len(v)-1]|0x20); i >= 0 {
			shift = 10 * (i + 1)
			v = v[:len(v)-1]
		}
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0
	}
	return n << shift
}

// seeds are the peers' addresses now; nil when none were ever named.
func (cfg NodeConfig) seeds() ([]string, error) {
	if cfg.SeedFile == "" && cfg.SeedHosts == nil {
		return nil, nil
	}
	out := []string{}
	add := func(h string) {
		if h = strings.TrimSpace(h); h != "" {
			if host, _, ok := strings.Cut(h, ":"); ok {
				h = host
			}
			out = append(out, h)
		}
	}
	for _, h := range cfg.SeedHosts {
		add(h)
	}
	if cfg.SeedFile != "" {
		b, err := os.ReadFile(cfg.SeedFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the seed hosts: %w", err)
		}
		for _, h := range strings.Split(string(b), "\n") {
			add(h)
		}
	}
	return out, nil
}
