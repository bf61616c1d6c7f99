import { defaultLimits } from '@org/agent-messaging-core'
import type {
  Activity,
  Agent,
  Instant,
  Permission,
  Webhook,
  WebhookDelivery,
} from '@org/agent-messaging-core'
import { ok, okAsync, safeTry } from 'neverthrow'
import { Hono } from 'hono'
import { Chart, Sparkline } from './charts.js'
import { show, showError } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { Command, Empty, pathOf, refreshed, span, Status } from './parts.js'
import { numbersOf, type Numbers } from './numbers.js'
import { healthOf } from './wording.js'

const MINUTE = 60_000
const RANGES = {
  '1h': { label: '1 hour', bucketMs: MINUTE, buckets: 60 },
  '24h': { label: '24 hours', bucketMs: 30 * MINUTE, buckets: 48 },
  '7d': { label: '7 days', bucketMs: 180 * MINUTE, buckets: 56 },
} as const
type Range = keyof typeof RANGES

const isRange = (text: string | undefined): text is Range =>
  text !== undefined && Object.hasOwn(RANGES, text)

/** The data of the overview. Data that the API key cannot read is empty and not shown. */
type OverviewData = {
  readonly can: Readonly<Record<'seeMessages' | 'seeAgents' | 'seeWebhooks', boolean>>
  readonly activity: Activity
  readonly agents: readonly Agent[]
  readonly webhooks: readonly Webhook[]
  /** The newest 100 pending deliveries. */
  readonly open: readonly WebhookDelivery[]
}

const MAX_ROWS = 100
/** All agents: the oldest one can be the one in error. */
const MAX_AGENTS = defaultLimits.agentsPerProject
const NOTHING = okAsync({ data: [] })

const accessOf = (permissions: readonly Permission[]): OverviewData['can'] => ({
  seeMessages: permissions.includes('project:message'),
  seeAgents: permissions.includes('project:agents'),
  seeWebhooks: permissions.includes('project:webhooks'),
})

export const overviewRoutes = ({ service }: ConsoleDeps) =>
  new Hono<Env>().get(BASE, async (c) => {
    const { projectId, permissions } = c.get('apiKey')
    const can = accessOf(permissions)
    const asked = c.req.query('range')
    const range = isRange(asked) ? asked : '1h'
    const found = await safeTry(async function* () {
      const activity = yield* service.activity({ projectId, ...RANGES[range] })
      const agents = yield* can.seeAgents
        ? service.agents.list(projectId, { limit: MAX_AGENTS })
        : NOTHING
      const webhooks = yield* can.seeWebhooks
        ? service.webhooks.list(projectId, { limit: MAX_ROWS })
        : NOTHING
      const open = yield* can.seeWebhooks
        ? service.deliveries.list({ projectId, status: 'pending' }, { limit: MAX_ROWS })
        : NOTHING
      return ok<OverviewData>({
        can,
        activity,
        agents: agents.data,
        webhooks: webhooks.data,
        open: open.data,
      })
    })
    if (found.isErr()) return showError(c, found.error)
    return show(
      c,
      { title: 'Overview', section: 'Overview' },
      <Overview
        data={found.value}
        range={range}
        path={pathOf(c)}
        origin={new URL(c.req.url).origin}
      />,
    )
  })

type OverviewProps = {
  readonly data: OverviewData
  readonly range: Range
  readonly path: string
  readonly origin: string
}

function Overview({ data, range, path, origin }: OverviewProps) {
  const { can } = data
  const newest = data.activity.newest.toLocaleString('en')
  const numbers = numbersOf(data.activity, RANGES[range])
  const isNew =
    can.seeMessages && can.seeWebhooks && data.webhooks.length === 0 && numbers.total.messages === 0
  return (
    <>
      <div class="heading">
        <h1>Overview</h1>
        <nav class="tabs" aria-label="Period">
          {Object.entries(RANGES).map(([name, { label }]) => (
            <a href={`${BASE}?range=${name}`} aria-current={name === range ? 'true' : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </div>
      {isNew ? <FirstSteps origin={origin} agents={data.agents} /> : null}
      <div {...refreshed('live', 5_000, path)}>
        <Tiles data={data} numbers={numbers} />
        <div class="charts">
          {can.seeMessages && <Chart title="Messages" at={numbers.at} series={numbers.messages} />}
          {can.seeWebhooks && (
            <>
              <Chart title="Delivery attempts" at={numbers.at} series={numbers.attempts} />
              <Chart
                title="Error rate"
                at={numbers.at}
                series={numbers.errorRate}
                max={100}
                unit=" %"
              />
              <StatusCodes codes={numbers.codes} />
            </>
          )}
        </div>
        <Webhooks webhooks={data.webhooks} numbers={numbers} now={data.activity.now} />
        <p class="muted small">
          Based on the newest {newest} messages of each agent and the attempts of the newest{' '}
          {newest} deliveries.
        </p>
      </div>
    </>
  )
}

function Tiles({
  data: { can, agents, open, activity },
  numbers: { total },
}: {
  readonly data: OverviewData
  readonly numbers: Numbers
}) {
  return (
    <dl class="tiles">
      {can.seeMessages && <MessageTiles total={total} />}
      {can.seeWebhooks && <DeliveryTiles total={total} open={open} now={activity.now} />}
      {can.seeAgents && <AgentTile agents={agents} />}
    </dl>
  )
}

type Total = Numbers['total']

const MessageTiles = ({ total }: { readonly total: Total }) => (
  <>
    <Tile
      name="Messages"
      value={total.messages}
      note={total.unfinished > 0 ? `${total.unfinished} not answered yet` : 'none waiting'}
    />
    <Tile
      name="Failed messages"
      value={total.failedMessages}
      note="failed or cancelled"
      tone={total.failedMessages > 0 ? 'bad' : undefined}
    />
  </>
)

type DeliveryTilesProps = {
  readonly total: Total
  readonly open: OverviewData['open']
  readonly now: Instant
}

function DeliveryTiles({ total, open, now }: DeliveryTilesProps) {
  const dueAt = open.flatMap(({ state }) => (state.kind === 'pending' ? [state.nextAttemptAt] : []))
  const oldest = Math.min(...dueAt)
  const rate =
    total.attempts === 0 ? '–' : `${((100 * total.failed) / total.attempts).toFixed(1)} %`
  return (
    <>
      <Tile
        name="Delivery attempts"
        value={total.attempts}
        note={`${total.attempts - total.failed} accepted`}
      />
      <Tile
        name="Error rate"
        value={rate}
        note={`${total.failed} failed`}
        tone={total.failed > 0 ? 'bad' : undefined}
      />
      <Tile
        name="Backlog"
        value={open.length === MAX_ROWS ? `${MAX_ROWS}+` : open.length}
        note={backlogNote(open.length, oldest, now)}
        href={`${BASE}/deliveries?status=pending`}
      />
    </>
  )
}

function AgentTile({ agents }: Pick<OverviewData, 'agents'>) {
  const running = agents.filter(({ state }) => state.kind === 'running').length
  const failing = agents.filter(({ state }) => state.kind === 'error').length
  return (
    <Tile
      name="Agents running"
      value={`${running} of ${agents.length}`}
      note={failing > 0 ? `${failing} in error` : 'none in error'}
      tone={failing > 0 ? 'bad' : undefined}
      href={`${BASE}/agents`}
    />
  )
}

/** Describes the wait of the backlog. With 100 or more deliveries, `oldest` is only a bound. */
function backlogNote(count: number, oldest: Instant, now: Instant): string {
  const isAll = count < MAX_ROWS
  if (count === 0) return 'no deliveries waiting'
  if (oldest === Infinity) return 'being sent'
  return oldest <= now
    ? `oldest due for ${isAll ? '' : 'over '}${span(now - oldest)}`
    : `next due ${isAll ? 'in' : 'within'} ${span(oldest - now)}`
}

type TileProps = {
  readonly name: string
  readonly value: number | string
  readonly note: string
  readonly tone?: 'bad' | undefined
  readonly href?: string
}

const Tile = ({ name, value, note, tone, href }: TileProps) => (
  <div class={`tile card ${tone ?? ''}`}>
    <dt>{href === undefined ? name : <a href={href}>{name}</a>}</dt>
    <dd class="value">{typeof value === 'number' ? value.toLocaleString('en') : value}</dd>
    <dd class="muted small">{note}</dd>
  </div>
)

function StatusCodes({ codes }: Pick<Numbers, 'codes'>) {
  const max = Math.max(1, ...codes.map(({ count }) => count))
  const all = codes.reduce((sum, { count }) => sum + count, 0)
  return (
    <section class="chart card" aria-labelledby="codes">
      <h2 id="codes">Status codes</h2>
      {codes.length === 0 ? (
        <p class="muted">No attempts in this period.</p>
      ) : (
        <table class="codes">
          <thead class="hidden">
            <tr>
              <th scope="col">Status code</th>
              <th scope="col">Share</th>
              <th scope="col">Attempts</th>
            </tr>
          </thead>
          <tbody>
            {codes.map(({ text, tone, count }) => (
              <tr>
                <th scope="row">{text}</th>
                <td>
                  <svg
                    viewBox="0 0 100 10"
                    preserveAspectRatio="none"
                    role="img"
                    aria-label={`${Math.round((100 * count) / all)} %`}
                  >
                    <rect
                      class={tone}
                      width={Math.max(0.5, (100 * count) / max).toFixed(1)}
                      height="10"
                      rx="1"
                    />
                  </svg>
                </td>
                <td class="number">{count.toLocaleString('en')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

type WebhooksProps = {
  readonly webhooks: readonly Webhook[]
  readonly numbers: Numbers
  readonly now: Instant
}

function Webhooks({ webhooks, numbers, now }: WebhooksProps) {
  if (webhooks.length === 0) return null
  return (
    <section class="card flush" aria-labelledby="webhooks">
      <h2 id="webhooks">Webhooks</h2>
      <div class="scroll" role="group" aria-labelledby="webhooks" tabindex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Webhook</th>
              <th scope="col">Health</th>
              <th scope="col">Attempts</th>
              <th scope="col" class="number">
                Accepted
              </th>
              <th scope="col" class="number">
                Failed
              </th>
            </tr>
          </thead>
          <tbody>
            {webhooks.map((webhook) => {
              const { good, bad } = numbers.ofWebhook(webhook.id)
              const { tone, text } = healthOf(webhook, now)
              return (
                <tr>
                  <th scope="row">
                    <a href={`${BASE}/webhooks/${webhook.id}`} class="url">
                      {webhook.url}
                    </a>
                  </th>
                  <td data-label="Health">
                    <Status tone={tone}>{text}</Status>
                  </td>
                  <td data-label="Attempts">
                    <Sparkline good={good} bad={bad} />
                  </td>
                  <td class="number" data-label="Accepted">
                    {sum(good)}
                  </td>
                  <td class="number" data-label="Failed">
                    {sum(bad)}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </section>
  )
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

function FirstSteps({
  origin,
  agents,
}: {
  readonly origin: string
  readonly agents: readonly Agent[]
}) {
  const agent = agents[0]?.name ?? 'echo'
  const body = JSON.stringify({ sessionId: 'first', message: 'Hello' })
  return (
    <Empty title="Get started">
      <p>
        Send a message <a href={`${BASE}/sessions`}>in the console</a>, or from a shell with your
        API key in <code>$KEY</code>:
      </p>
      <Command
        text={`curl ${origin}/v1/agents/${agent}/messages \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`}
      />
      <p>
        Then <a href={`${BASE}/webhooks`}>register a webhook</a> to receive each answer.
      </p>
    </Empty>
  )
}
