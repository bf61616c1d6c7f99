import type { Agent, ProjectStats } from '@org/agent-messaging-core'
import type { Child } from 'hono/jsx'
import { deliveriesPath } from './parts/filter.js'
import { messagesPath } from './messages/message-table.js'
import { type Counted, type Numbers, upTo } from './parts/numbers.js'
import { BASE } from './options.js'
import { span } from './parts/parts.js'

type Total = Numbers['total']

const shown = (count: number) => count.toLocaleString('en')

/** A number that links to the list that it counts. */
type Tile = {
  readonly name: string
  readonly value: number | string
  readonly note: Child
  readonly isBad?: boolean
  readonly href: string
}

export const Tiles = ({ tiles }: { readonly tiles: readonly Tile[] }) => (
  <dl class="tiles">
    {tiles.map(({ name, value, note, isBad = false, href }) => (
      <div class={`tile card ${isBad ? 'bad' : ''}`}>
        <dt>{name}</dt>
        <dd class="value">
          <a href={href}>{typeof value === 'number' ? shown(value) : value}</a>
        </dd>
        <dd class="muted small">{note}</dd>
      </div>
    ))}
  </dl>
)

export const messageTiles = (
  { messages, failed, cancelled, answered, p50Ms, p95Ms }: Total,
  { since, backlog }: Counted,
): readonly Tile[] => {
  const { queued, running, deferred, inputRequired } = backlog.messages
  const open = Object.entries({ queued, running, deferred, input_required: inputRequired })
  const waiting = open.filter(([, count]) => count > 0)
  return [
    {
      name: 'Messages',
      value: messages,
      href: messagesPath({ from: since }),
      note:
        waiting.length === 0
          ? 'none waiting now'
          : waiting.map(([state, count], at) => (
              <>
                {at > 0 && ', '}
                <a
                  href={
                    state === 'input_required'
                      ? `${BASE}/questions`
                      : `${BASE}/conversations?state=${state}`
                  }
                >
                  {shown(count)} {state}
                </a>
              </>
            )),
    },
    {
      name: 'Failed messages',
      value: failed,
      href: messagesPath({ state: 'failed' }),
      note: (
        <>
          <a href={messagesPath({ state: 'cancelled' })}>{shown(cancelled)} cancelled</a>. The lists
          show all messages in that state now.
        </>
      ),
      isBad: failed > 0,
    },
    {
      name: 'Response time',
      value: answered === 0 ? '–' : upTo(p50Ms),
      href: messagesPath({ state: 'responded', from: since }),
      note: answered === 0 ? 'no answers' : `half of the answers; 95 %: ${upTo(p95Ms)}`,
    },
  ]
}

/** The end users of the messages of today, and of yesterday if they are counted. */
export function peopleTile({ from, to, rows, peopleToday }: ProjectStats): Tile {
  const { count = 0, isExact = true } = peopleToday ?? {}
  const yesterday = rows.find(({ at }) => at === from)?.people
  return {
    name: 'People today',
    value: isExact ? count : `at least ${count.toLocaleString('en')}`,
    href: messagesPath({ from: to }),
    note: `since 00:00 UTC${yesterday == null ? '' : `, yesterday ${yesterday}`}; the list has their messages`,
  }
}

export function deliveryTiles(
  { attempts, acceptedAttempts, failedAttempts }: Total,
  { since, now, backlog: { deliveries } }: Counted,
): readonly Tile[] {
  const { open, oldestDueAt, held: byCause } = deliveries
  const held = Object.values(byCause).reduce((sum, { count }) => sum + count, 0)
  const causes = Object.entries(byCause).filter(([, { count }]) => count > 0)
  return [
    {
      name: 'Delivery attempts',
      value: attempts,
      href: deliveriesPath({ from: since }),
      note: (
        <>
          <a href={deliveriesPath({ answer: '2xx', from: since })}>
            {shown(acceptedAttempts)} accepted
          </a>
          . The lists show each delivery once, with its last answer.
        </>
      ),
    },
    {
      name: 'Error rate',
      value: attempts === 0 ? '–' : `${((100 * failedAttempts) / attempts).toFixed(1)} %`,
      href: '#codes',
      note: (
        <a href={deliveriesPath({ answer: 'failed', from: since })}>
          {shown(failedAttempts)} failed
        </a>
      ),
      isBad: failedAttempts > 0,
    },
    {
      name: 'Backlog',
      value: open,
      note:
        open === 0
          ? 'no deliveries waiting'
          : oldestDueAt === undefined
            ? 'none is due'
            : `oldest due for ${span(now - oldestDueAt)}`,
      href: deliveriesPath({ status: 'pending' }),
    },
    {
      name: 'Held',
      value: held,
      note:
        causes.length === 0 ? (
          'no webhook holds any'
        ) : (
          <a href={`${BASE}/webhooks?show=held`}>
            {causes.map(([cause, { count }]) => `${shown(count)} by ${cause}`).join(', ')}
          </a>
        ),
      href: deliveriesPath({ held: 'yes' }),
    },
  ]
}

export function agentTile(agents: readonly Agent[]): Tile {
  const count = (wanted: Agent['state']['kind']) =>
    agents.filter(({ state }) => state.kind === wanted).length
  const failing = count('error')
  return {
    name: 'Agents running',
    value: `${count('running')} of ${agents.length}`,
    note:
      failing > 0 ? <a href={`${BASE}/agents?state=error`}>{failing} in error</a> : 'none in error',
    isBad: failing > 0,
    href: `${BASE}/agents`,
  }
}
