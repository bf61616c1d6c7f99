import type { Invalid, Unavailable } from '@org/agent-messaging-core'
import { failure, success, type PortResult } from '@org/agent-messaging-core/runtime'
import type { HostTransaction } from '@org/agent-messaging-core/storage'
import { findEventTypes } from '@org/agent-messaging-sql-kit'
import type { EventEmitter } from 'node:events'
import type { ClientBase } from 'pg'
import { acceptAll } from './accept-message.js'
import { findAgents } from '../agents/agents.js'
import { MAX_LOCK_FAILURES } from '../database/batch.js'
import { queriesOn } from '../database/gateway.js'
import { perform } from '../database/operations.js'
import { codeOf, unavailableBecause } from '../database/errors.js'
import { retried } from '../database/retry.js'
import { publishAll, remember, wholePublish, withoutRace } from '../events/publish-events.js'
import { KnownReceivers } from '../webhooks/receivers.js'

/**
 * Stores for `service.messages.enqueue` and `service.events.publish` in the open transaction of
 * `client`, which must be READ COMMITTED. Messages and events exist when the host commits. Until then
 * their sessions and orders are locked, so write them last. A failure leaves the transaction usable.
 */
export function inTransaction(client: ClientBase): HostTransaction {
  const db = queriesOn(client)
  return {
    agents: {
      get: (projectId, idOrName) =>
        stored(async () => (await findAgents(db, [{ projectId, idOrName }]))[0]),
    },
    messages: {
      accept: (message) =>
        stored(async () => {
          const [accepted] = await retried(
            () => undoable(client, () => acceptAll(db, [message])),
            MAX_LOCK_FAILURES,
          )
          if (!accepted) throw new Error('PostgreSQL returned no result for the message')
          return accepted
        }),
    },
    events: {
      publish: wholePublish(
        (publication) =>
          stored(() =>
            withoutRace(async () => {
              const [published] = await retried(
                () => undoable(client, () => publishAll(db, [publication], new KnownReceivers())),
                MAX_LOCK_FAILURES,
              )
              if (!published) throw new Error('PostgreSQL returned no result for the events')
              return published
            }),
          ),
        (publication) => stored(() => remember(db, publication)),
      ),
    },
    eventTypes: {
      find: (projectId, names) => stored(() => perform(db, findEventTypes, projectId, names)),
    },
    onEnd: (hear) => void hearersOf(client)?.add(hear),
  }
}

type Hearers = Set<() => void>

/** One listener per connection, however many messages a transaction accepts. */
const hearersByConnection = new WeakMap<EventEmitter, Hearers>()

/**
 * The calls at the end of the client's transaction. The server tells the state of the transaction
 * after each query, so no NOTIFY is needed (decision 37). Returns undefined for a native client,
 * which does not show that state.
 */
function hearersOf(client: ClientBase): Hearers | undefined {
  const { connection } = client as { readonly connection?: EventEmitter }
  const known = connection && hearersByConnection.get(connection)
  if (!connection || known) return known
  const hearers: Hearers = new Set()
  hearersByConnection.set(connection, hearers)
  connection.on('readyForQuery', ({ status }: { readonly status: string }) => {
    if (status !== IDLE) return
    for (const hear of hearers) hear()
    hearers.clear()
  })
  return hearers
}

/** Outside of a transaction. */
const IDLE = 'I'

async function stored<T>(work: () => Promise<T>): Promise<PortResult<T, Unavailable | Invalid>> {
  try {
    return success(await work())
  } catch (error) {
    return failure(errorOf(error))
  }
}

/** Mistakes of the host by SQLSTATE. */
const MISTAKES: ReadonlyMap<string | undefined, string> = new Map([
  ['25000', 'must be READ COMMITTED, and has another isolation level'],
  ['25P01', 'must be open: send BEGIN on this client first'],
  ['25P02', 'has failed: send ROLLBACK, and begin again'],
])

function errorOf(error: unknown): Unavailable | Invalid {
  const message = MISTAKES.get(codeOf(error))
  return message === undefined
    ? unavailableBecause(error)
    : { kind: 'invalid', issues: [{ path: 'transaction', message }] }
}

/** Rolls back to a savepoint, because a failed statement would end the host's transaction. */
async function undoable<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('savepoint agent_messaging')
  try {
    const value = await work()
    await client.query('release savepoint agent_messaging')
    return value
  } catch (error) {
    await client.query('rollback to savepoint agent_messaging; release savepoint agent_messaging')
    throw error
  }
}
