import Database from 'better-sqlite3'
import pg from 'pg'

/** Commits each message and each answer. Groups the commits of several callers. */
export const twoCommits = (database) =>
  database.startsWith('postgres:') ? onPostgres(database) : onSqlite(database)

function onSqlite(file) {
  const db = new Database(file)
  db.pragma('journal_mode = wal')
  db.pragma('synchronous = full')
  db.exec('create table messages (id integer primary key, body text not null, answer text)')
  const accept = db.prepare('insert into messages (body) values (?)')
  const answer = db.prepare('update messages set answer = ? where id = ?')
  const commit = grouped(
    db.transaction((batch) =>
      batch.map(({ statement, values }) => statement.run(...values).lastInsertRowid),
    ),
  )
  return {
    accept: (body) => commit({ statement: accept, values: [body] }),
    answer: (id, text) => commit({ statement: answer, values: [text, id] }),
  }
}

async function onPostgres(connectionString) {
  const pool = new pg.Pool({ connectionString })
  await pool.query('create table messages (id bigint primary key, body text not null, answer text)')
  const column = (batch, n) => batch.map((row) => row[n])
  const both = (batch) => [column(batch, 0), column(batch, 1)]
  const accept = grouped((batch) =>
    pool.query({ name: 'accept', text: acceptSql, values: both(batch) }),
  )
  const answer = grouped((batch) =>
    pool.query({ name: 'answer', text: answerSql, values: both(batch) }),
  )
  let ids = 0
  return {
    accept: async (body) => {
      const id = ++ids
      await accept([id, body])
      return id
    },
    answer: (id, text) => answer([id, text]),
  }
}

const acceptSql = 'insert into messages (id, body) select * from unnest($1::bigint[], $2::text[])'
const answerSql = `update messages m set answer = a.answer
  from unnest($1::bigint[], $2::text[]) as a (id, answer) where m.id = a.id`

/** Joins the values of one iteration of the event loop, and of a running write, into one write. */
function grouped(write) {
  const waiting = []
  let writing = false

  async function writeAll() {
    writing = true
    while (waiting.length > 0) {
      await new Promise((resolve) => setImmediate(resolve))
      const batch = waiting.splice(0)
      const values = await write(batch.map(({ value }) => value))
      for (const [n, { done }] of batch.entries())
        done(Array.isArray(values) ? values[n] : undefined)
    }
    writing = false
  }

  return (value) =>
    new Promise((done) => {
      waiting.push({ value, done })
      if (!writing) void writeAll()
    })
}
