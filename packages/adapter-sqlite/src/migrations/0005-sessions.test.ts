import { expect, it } from 'vitest'
import { openConnection } from '../connection.js'
import { migrate } from '../migrate.js'
import { migrations } from './index.js'
import { sessions } from './0005-sessions.js'

it('counts what is open in the sessions of before, and finds their newest messages', () => {
  const db = openConnection(':memory:', 0)
  migrate(db, migrations.slice(0, migrations.indexOf(sessions)))
  db.exec(`
    insert into sessions (seq, agent_id, session_id, last_position, head_position, due_at, lease)
      values (1, 'a', 'waits', 3, 2, 500, 1), (2, 'a', 'idle', 1, 2, null, 1);
    insert into messages (id, agent_id, session_seq, position, message, principal, attempt, state, created_at)
      values ('m1', 'a', 1, 1, '', '{}', 1, 'responded', 100), ('m2', 'a', 1, 2, '', '{}', 1, 'running', 200),
        ('m3', 'a', 1, 3, '', '{}', 0, 'queued', 300), ('m4', 'a', 2, 1, '', '{}', 1, 'failed', 400)`)
  migrate(db, migrations)
  expect(
    db
      .prepare(
        'select open_count, last_message_id, last_message_at, state from sessions order by seq',
      )
      .all(),
  ).toEqual([
    { open_count: 2, last_message_id: 'm3', last_message_at: 300, state: null },
    { open_count: 0, last_message_id: 'm4', last_message_at: 400, state: null },
  ])
})
