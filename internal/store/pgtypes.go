package store

import "github.com/jackc/pgx/v5/pgtype"

type (
	pgInt8 = pgtype.Int8
	pgText = pgtype.Text
)
