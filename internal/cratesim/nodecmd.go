package cratesim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// NodeMain is a simulated CrateDB process: flags, then "--", then what follows `crate` on
// a real command line. It serves until TERM and gives the exit code: 0 after TERM, 1 where
// CrateDB would refuse to start, 2 for wrong flags.
func NodeMain(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return RunNodeArgs(ctx, args, os.Environ(), os.Stderr)
}

// RunNodeArgs is NodeMain without a process of its own: it serves until ctx ends.
// Several may run side by side, each at its own address.
func RunNodeArgs(ctx context.Context, args, env []string, out io.Writer) int {
	fs := flag.NewFlagSet("cratedb-node", flag.ContinueOnError)
	fs.SetOutput(out)
	cfg := NodeConfig{Env: env}
	fs.StringVar(&cfg.Hub, "hub", "", "unix socket of the simulator's hub")
	fs.StringVar(&cfg.Address, "address", "", "loopback address to bind")
	fs.StringVar(&cfg.Version, "version", "", "CrateDB version, as in the image's tag")
	fs.StringVar(&cfg.SeedFile, "seed-file", "", "file with an address of a peer a line, read again all the time")
	fs.StringVar(&cfg.Volumes, "volumes", "", "folder of volumes; a file NAME.size beside the folder NAME has its bytes, read again all the time")
	fs.StringVar(&cfg.DataDir, "data-dir", "", "folder that takes the place of -Cpath.data")
	fs.Func("repository-folder", "PATH=FOLDER: the folder of this machine that a path of -Cpath.repo stands for", func(text string) error {
		path, folder, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("%q is not PATH=FOLDER", text)
		}
		if cfg.RepositoryFolders == nil {
			cfg.RepositoryFolders = map[string]string{}
		}
		cfg.RepositoryFolders[path] = folder
		return nil
	})
	seeds := fs.String("seed-hosts", "", "addresses of peers, comma-separated")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *seeds != "" {
		cfg.SeedHosts = strings.Split(*seeds, ",")
	}
	cfg.Args = fs.Args()
	if cfg.Hub == "" || cfg.Address == "" || cfg.Version == "" {
		fmt.Fprintln(out, "cratedb-node: --hub, --address and --version are needed")
		return 2
	}
	err := RunNode(ctx, cfg)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrRefused):
		fmt.Fprintln(out, `Exception in thread "main" `+strings.TrimPrefix(err.Error(), ErrRefused.Error()+": "))
	default:
		fmt.Fprintln(out, "cratedb-node:", err)
	}
	return 1
}
