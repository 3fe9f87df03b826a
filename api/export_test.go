package api

// ReadMoment reads a moment as people write one.
var ReadMoment = readMoment

// TroubleLine finds the line of a log that says what went wrong.
var TroubleLine = troubleLine

// Lasting tells a duration.
var Lasting = lasting
