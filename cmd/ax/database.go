package main

import (
	"github.com/spf13/cobra"

	"github.com/ax-run/ax/internal/store"
)

func databaseFlag(cmd *cobra.Command, url *string) {
	cmd.Flags().StringVar(url, "database-url", "", "the PostgreSQL database, as postgres://USER:PASSWORD@HOST/NAME")
}

// needDatabase refuses verbs that have no database to work on.
func needDatabase(url string) error {
	if url == "" {
		return failure(exitUsage, "no database is named: say --database-url, or set AX_DATABASE_URL (`ax dev` brings a database of its own)")
	}
	return nil
}

// databaseError gives an error of a database that is away its exit code.
func databaseError(err error) error {
	if err != nil && store.Transient(err) {
		return &unreachable{what: "the database", err: err, hint: "see that it runs and that --database-url is right"}
	}
	return err
}
