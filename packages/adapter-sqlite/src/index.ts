export { openSqliteStorage, type SqliteOptions, type SqliteStorage } from './open.js'
export { SqliteOpenError } from './open-error.js'
export { sqlitePacemaker, type SqlitePacemaker, type SqlitePacemakerOptions } from './pacemaker.js'
