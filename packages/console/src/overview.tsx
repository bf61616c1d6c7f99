import type { Agent, ProjectStats, Webhook } from '@org/agent-messaging-core'
import { defaultLimits } from '@org/agent-messaging-core/runtime'
import { Chart } from './parts/charts.js'
import { Command } from './parts/parts.js'
import { can, projectIn } from './parts/input.js'
import { useView } from './parts/zone.js'
import { show, showFound } from './parts/layout.js'
import { type ConsoleDeps, newRoutes } from './context.js'
import { BASE } from './options.js'
import { Empty, Live } from './parts/table.js'
import { numbersOf, RANGES, readCounts, type Counted, type Range, upTo } from './parts/numbers.js'
import { deliveriesPath } from './parts/filter.js'
import { messagesPath, sessionsPath } from './messages/message-table.js'
import { agentTile, deliveryTiles, messageTiles, peopleTile, Tiles } from './overview-tiles.js'
import { StatusCodes, Webhooks } from './overview-webhooks.js'

const isRange = (text: string | undefined): text is Range =>
  text !== undefined && Object.hasOwn(RANGES, text)

/** The data of the overview. Data that the API key cannot read is empty and not shown. */
type OverviewData = {
  readonly counted: Counted
  /** By day, since yesterday. */
  readonly people: ProjectStats
  readonly agents: readonly Agent[]
  readonly webhooks: readonly Webhook[]
}

const DAY = 86_400_000
const MAX_WEBHOOKS = 100
/** All agents: the oldest one can be the one in error. */
const MAX_AGENTS = defaultLimits.agentsPerProject
const NOTHING = { data: [] }

export const overviewRoutes = ({ service }: ConsoleDeps) =>
  newRoutes().get('/', (c) => {
    const projectId = projectIn(c)
    const seesWebhooks = can(c, 'webhooks.list')
    const asked = c.req.query('range')
    const range = isRange(asked) ? asked : '1h'
    const found = async () => {
      const counted = await readCounts(service, projectId, range)
      const people = await service.stats({ projectId, step: '1d', from: counted.now - DAY })
      const agents = can(c, 'agents.list')
        ? await service.agents.list({ projectId, limit: MAX_AGENTS })
        : NOTHING
      const webhooks = seesWebhooks
        ? await service.webhooks.list({ projectId, limit: MAX_WEBHOOKS })
        : NOTHING
      return {
        counted,
        people,
        agents: agents.data,
        webhooks: webhooks.data,
      } satisfies OverviewData
    }
    return showFound(c, found(), (data) =>
      show(
        c,
        { title: 'Overview', section: 'Overview' },
        <Overview data={data} range={range} origin={new URL(c.req.url).origin} />,
      ),
    )
  })

type OverviewProps = {
  readonly data: OverviewData
  readonly range: Range
  readonly origin: string
}

function Overview({ data, range, origin }: OverviewProps) {
  const { c } = useView()
  const seesMessages = can(c, 'messages.list')
  const seesWebhooks = can(c, 'webhooks.list')
  const { counted, people, agents, webhooks } = data
  const { since } = counted
  const numbers = numbersOf(counted, range)
  const { total } = numbers
  const isNew =
    can(c, 'messages.send') &&
    can(c, 'webhooks.create') &&
    webhooks.length === 0 &&
    total.messages === 0
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
      {isNew ? <FirstSteps origin={origin} agents={agents} /> : null}
      <Live every={5_000}>
        <Tiles
          tiles={[
            ...(seesMessages ? [...messageTiles(total, counted), peopleTile(people)] : []),
            ...(seesWebhooks ? deliveryTiles(total, counted) : []),
            ...(can(c, 'agents.list') ? [agentTile(agents)] : []),
          ]}
        />
        <div class="charts">
          {seesMessages && (
            <>
              <Chart
                title="Messages"
                at={numbers.at}
                series={numbers.messages}
                listOf={messagesPath}
              />
              <Chart
                title="Response time"
                at={numbers.at}
                series={numbers.latency}
                isNested
                format={(ms) => (ms === 0 ? '–' : upTo(ms))}
                listOf={(span) => messagesPath({ state: 'responded', ...span })}
              />
            </>
          )}
          {seesWebhooks && (
            <>
              <Chart
                title="Delivery attempts"
                at={numbers.at}
                series={numbers.attempts}
                listOf={deliveriesPath}
              />
              <Chart
                title="Error rate"
                at={numbers.at}
                series={numbers.errorRate}
                format={(rate) => `${rate} %`}
                listOf={(span) => deliveriesPath({ answer: 'failed', ...span })}
              />
              <StatusCodes classes={numbers.classes} since={since} />
            </>
          )}
        </div>
        <Webhooks webhooks={webhooks} numbers={numbers} since={since} />
      </Live>
    </>
  )
}

/** Explains the first message to a project without messages and webhooks. */
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
        Send a message <a href={sessionsPath()}>in the console</a>, or from a shell with your API
        key in <code>$KEY</code>:
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
