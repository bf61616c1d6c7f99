import type { Agent, Instant, ProjectStats } from '@org/agent-messaging-core'
import type { Child } from 'hono/jsx'
import { deliveriesPath } from './parts/filter.js'
import { messagesPath } from './messages/message-table.js'
import { type PageRequest, BASE } from './context.js'
import { Chart } from './parts/charts.js'
import { type Counted, type Numbers, type Range, RANGES, upTo } from './parts/numbers.js'
import { span, Tabs } from './parts/parts.js'

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

/** The messages that wait in each state. */
export const waitingNote = ({ messages }: Counted['backlog']): Child => {
  const { queued, running, deferred, inputRequired } = messages
  const open = Object.entries({ queued, running, deferred, input_required: inputRequired })
  const waiting = open.filter(([, count]) => count > 0)
  return waiting.length === 0
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
      ))
}

/** The numbers of all agents, or of the one with this name. */
export const messageTiles = (
  { messages, failed, cancelled, answered, p50Ms, p95Ms }: Total,
  from: Instant,
  note: Child,
  agent?: string,
): readonly Tile[] => {
  return [
    { name: 'Messages', value: messages, href: messagesPath({ agent, from }), note },
    {
      name: 'Failed messages',
      value: failed,
      href: messagesPath({ agent, state: 'failed' }),
      note: (
        <>
          <a href={messagesPath({ agent, state: 'cancelled' })}>{shown(cancelled)} cancelled</a>.
          The lists show all messages in that state now.
        </>
      ),
      isBad: failed > 0,
    },
    {
      name: 'Response time',
      value: answered === 0 ? '–' : upTo(p50Ms),
      href: messagesPath({ agent, state: 'responded', from }),
      note: answered === 0 ? 'no answers' : `half of the answers; 95 %: ${upTo(p95Ms)}`,
    },
  ]
}

/** The end users of the messages of today, and of yesterday if they are counted. */
export function peopleTile({ from, to, rows, peopleToday }: ProjectStats, agent?: string): Tile {
  const { count = 0, isExact = true } = peopleToday ?? {}
  const yesterday = rows.find(({ at }) => at === from)?.people
  return {
    name: 'People today',
    value: isExact ? count : `at least ${count.toLocaleString('en')}`,
    href: messagesPath({ agent, from: to }),
    note: `since 00:00 UTC${yesterday == null ? '' : `, yesterday ${yesterday}`}; the list has their messages`,
  }
}

const isRange = (text: string | undefined): text is Range =>
  text !== undefined && Object.hasOwn(RANGES, text)

/** Returns the period that the address names. */
export function rangeIn(c: PageRequest) {
  const asked = c.req.query('range')
  return isRange(asked) ? asked : '1h'
}

/** Chooses the period of a page. */
export const Ranges = ({ path, range }: { readonly path: string; readonly range: Range }) => (
  <Tabs
    label="Period"
    tabs={Object.entries(RANGES).map(([name, { label }]) => [
      label,
      `${path}?range=${name}`,
      name === range,
    ])}
  />
)

type ChartsProps = { readonly numbers: Numbers; readonly agent?: string }

/** The messages of all agents, or of the one with this name. */
export const MessageCharts = ({ numbers, agent }: ChartsProps) => (
  <>
    <Chart
      title="Messages"
      at={numbers.at}
      series={numbers.messages}
      listOf={(span) => messagesPath({ agent, ...span })}
    />
    <Chart
      title="Response time"
      at={numbers.at}
      series={numbers.latency}
      isNested
      format={(ms) => (ms === 0 ? '–' : upTo(ms))}
      listOf={(span) => messagesPath({ agent, state: 'responded', ...span })}
    />
  </>
)

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
