// Package reference is the rules of a run once more, written from their text, as naively as can be, for tests to compare the product
// with. It shares data types with dag/progress, no logic. It is for tests only.
package reference
