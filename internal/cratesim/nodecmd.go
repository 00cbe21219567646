package cratesim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// NodeMain is a simulated CrateDB process: flags, then "--", then what follows `crate` on
// a real command line. It serves until TERM and gives the exit code: 0 after TERM, 1 where
// CrateDB would refuse to start, 2 for wrong flags.
func NodeMain(args []string) int {
	fs := flag.NewFlagSet("cratedb-node", flag.ContinueOnError)
	cfg := NodeConfig{Env: os.Environ()}
	fs.StringVar(&cfg.Hub, "hub", "", "unix socket of the simulator's hub")
	fs.StringVar(&cfg.Address, "address", "", "loopback address to bind")
	fs.StringVar(&cfg.Version, "version", "", "CrateDB version, as in the image's tag")
	fs.StringVar(&cfg.SeedFile, "seed-file", "", "file with an address of a peer a line, read again all the time")
	fs.StringVar(&cfg.DataDir, "data-dir", "", "folder that takes the place of -Cpath.data")
	seeds := fs.String("seed-hosts", "", "addresses of peers, comma-separated")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *seeds != "" {
		cfg.SeedHosts = strings.Split(*seeds, ",")
	}
	cfg.Args = fs.Args()
	if cfg.Hub == "" || cfg.Address == "" || cfg.Version == "" {
		fmt.Fprintln(os.Stderr, "cratedb-node: --hub, --address and --version are needed")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err := RunNode(ctx, cfg)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrRefused):
		fmt.Fprintln(os.Stderr, `Exception in thread "main" `+strings.TrimPrefix(err.Error(), ErrRefused.Error()+": "))
	default:
		fmt.Fprintln(os.Stderr, "cratedb-node:", err)
	}
	return 1
}
