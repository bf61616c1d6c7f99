import { expect, it } from 'vitest'
import { openConnection } from '../connection.js'
import { migrate } from '../migrate.js'
import { claimedDeliveries } from './0008-claimed-deliveries.js'
import { migrations } from './index.js'

it('what was being sent is open and claimed, and nothing else is', () => {
  const db = openConnection(':memory:', 0)
  migrate(db, migrations.slice(0, migrations.indexOf(claimedDeliveries)))
  db.exec(`
    insert into webhooks (seq, id, project_id, url, events, secret, created_at, updated_at, is_deleted) values (1, 'w', 'p', '', '[]', '', 0, 0, 0);
    insert into events (seq, id, name, body, created_at) values (1, 'e', '', '', 0);
    insert into deliveries (id, project_id, webhook_seq, event_seq, state, step, attempt_count, due_at, lease, finished_at, created_at)
      values ('d1', 'p', 1, 1, 'sending', 0, 0, 500, 1, null, 100), ('d2', 'p', 1, 1, 'pending', 1, 1, 500, 1, null, 100),
        ('d3', 'p', 1, 1, 'delivered', 0, 1, null, 1, 200, 100), ('d4', 'p', 1, 1, 'cancelled', 0, 0, null, 1, 200, 100)`)
  migrate(db, migrations)
  expect(db.prepare('select id, state, is_claimed from deliveries order by id').all()).toEqual([
    { id: 'd1', state: 'pending', is_claimed: 1 },
    { id: 'd2', state: 'pending', is_claimed: 0 },
    { id: 'd3', state: 'delivered', is_claimed: 0 },
    { id: 'd4', state: 'cancelled', is_claimed: 0 },
  ])
})
