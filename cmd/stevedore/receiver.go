package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
)

// receiverFlags say where pushes come in.
type receiverFlags struct{ address, secretFile, secret string }

func (r *receiverFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&r.address, "receiver-address", "", "address that takes pushes of GitHub, GitLab, Gitea and others at /push, as :9292 (default: none)")
	flags.StringVar(&r.secretFile, "receiver-secret-file", "", "file with the secret that senders sign with, 16 characters at least")
	flags.StringVar(&r.secret, "receiver-secret", "", "Secret with it under the key token, in "+names.DaemonNamespace+" or as NAMESPACE/NAME")
}

// options are nil without an address.
func (r *receiverFlags) options(cfg *rest.Config) (*daemon.ReceiverOptions, error) {
	switch {
	case r.address == "" && r.secret == "" && r.secretFile == "":
		return nil, nil
	case r.address == "":
		return nil, errors.New("a secret for the receiver is given, but no --receiver-address")
	case (r.secret == "") == (r.secretFile == ""):
		return nil, errors.New("--receiver-address wants one of --receiver-secret-file and --receiver-secret: a push that nobody signed is not taken")
	}
	// The pod's address from the downward API: the other replica forwards to it.
	options := &daemon.ReceiverOptions{Address: r.address, Advertised: os.Getenv("POD_IP")}
	if r.secretFile != "" {
		options.Secret = func(context.Context) ([]byte, error) { return os.ReadFile(r.secretFile) }
		return options, nil
	}
	read, err := secretReader(cfg, r.secret)
	if err != nil {
		return nil, err
	}
	options.Secret = func(ctx context.Context) ([]byte, error) {
		data, err := read(ctx)
		if err == nil && len(data["token"]) == 0 {
			err = fmt.Errorf("reading Secret %s: it has no key token", r.secret)
		}
		return data["token"], err
	}
	return options, nil
}
