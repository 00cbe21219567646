package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd serves one etcd member on loopback until it is told to end. Its data
// does not outlive the sandbox, so it does not wait for the disk: without
// fsync a write costs microseconds instead of milliseconds.
func runEtcd(args []string) error {
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	dataDir := flags.String("data-dir", "", "folder for the data, required")
	clientURL := flags.String("client-url", "", "URL to serve clients on, required")
	peerURL := flags.String("peer-url", "", "URL to serve peers on, required")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dataDir == "" || *clientURL == "" || *peerURL == "" {
		return errors.New("--data-dir, --client-url and --peer-url are required")
	}
	client, err := url.Parse(*clientURL)
	if err != nil {
		return fmt.Errorf("parsing --client-url: %w", err)
	}
	peer, err := url.Parse(*peerURL)
	if err != nil {
		return fmt.Errorf("parsing --peer-url: %w", err)
	}

	cfg := embed.NewConfig()
	cfg.Name = "sandbox"
	cfg.Dir = *dataDir
	cfg.ListenClientUrls = []url.URL{*client}
	cfg.AdvertiseClientUrls = []url.URL{*client}
	cfg.ListenPeerUrls = []url.URL{*peer}
	cfg.AdvertisePeerUrls = []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "warn"

	member, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	defer member.Close()
	select {
	case <-member.Server.ReadyNotify():
	case <-time.After(time.Minute):
		return errors.New("not ready within a minute")
	}

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	select {
	case <-signals:
		return nil
	case err := <-member.Err():
		return err
	}
}
