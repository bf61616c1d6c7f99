import { CurlCommand } from './parts/parts.js'
import type { Agent, ProjectStats, Webhook } from '@org/agent-messaging-core'
import { defaultLimits } from '@org/agent-messaging-core/runtime'
import { Chart } from './parts/charts.js'
import { can, projectIn } from './parts/input.js'
import { useView } from './parts/zone.js'
import { show } from './parts/layout.js'
import { type ConsoleDeps, newRoutes, BASE } from './context.js'
import { Empty, Live } from './parts/table.js'
import { numbersOf, readCounts, type Counted, type Range } from './parts/numbers.js'
import { deliveriesPath } from './parts/filter.js'
import { sessionsPath } from './messages/message-table.js'
import {
  agentTile,
  deliveryTiles,
  MessageCharts,
  messageTiles,
  peopleTile,
  rangeIn,
  Ranges,
  Tiles,
  waitingNote,
} from './overview-tiles.js'
import { StatusCodes, Webhooks } from './overview-webhooks.js'

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
  newRoutes().get('/', async (c) => {
    const projectId = projectIn(c)
    const seesWebhooks = can(c, 'webhooks.list')
    const range = rangeIn(c)
    const counted = await readCounts(service, projectId, range)
    const people = await service.stats({ projectId, step: '1d', from: counted.now - DAY })
    const agents = can(c, 'agents.list')
      ? await service.agents.list({ projectId, limit: MAX_AGENTS })
      : NOTHING
    const webhooks = seesWebhooks
      ? await service.webhooks.list({ projectId, limit: MAX_WEBHOOKS })
      : NOTHING
    const data = { counted, people, agents: agents.data, webhooks: webhooks.data }
    return show(
      c,
      { title: 'Overview', section: 'Overview' },
      <Overview data={data} range={range} />,
    )
  })

type OverviewProps = { readonly data: OverviewData; readonly range: Range }

function Overview({ data, range }: OverviewProps) {
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
        <Ranges path={BASE} range={range} />
      </div>
      {isNew ? <FirstSteps agents={agents} /> : null}
      <Live every={5_000}>
        <Tiles
          tiles={[
            ...(seesMessages
              ? [...messageTiles(total, since, waitingNote(counted.backlog)), peopleTile(people)]
              : []),
            ...(seesWebhooks ? deliveryTiles(total, counted) : []),
            ...(can(c, 'agents.list') ? [agentTile(agents)] : []),
          ]}
        />
        <div class="charts">
          {seesMessages && <MessageCharts numbers={numbers} />}
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
function FirstSteps({ agents: [agent] }: Pick<OverviewData, 'agents'>) {
  return (
    <Empty title="Get started">
      <p>
        Send a message <a href={sessionsPath()}>in the console</a>, or from a shell with your API
        key in <code>$KEY</code>:
      </p>
      <CurlCommand
        path={`agents/${agent?.name ?? 'echo'}/messages`}
        body={{ sessionId: 'first', message: 'Hello' }}
      />
      <p>
        Then <a href={`${BASE}/webhooks`}>register a webhook</a> to receive each answer.
      </p>
    </Empty>
  )
}
