import type { Agent, FoundMessage } from '@org/agent-messaging-core'
import { agentSettings, errorIn } from '@org/agent-messaging-core/host'
import { AgentActions, AgentState } from './agents.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from './context.js'
import { messageColumns, messagesPath, sessionsPath } from './messages/message-table.js'
import {
  MessageCharts,
  messageTiles,
  peopleTile,
  rangeIn,
  Ranges,
  Tiles,
} from './overview-tiles.js'
import {
  fieldsOfSettings,
  PostForm,
  settingsIn,
  type Texts,
  textsIn,
  titleOf,
} from './parts/fields.js'
import { agentRef, byActor, can } from './parts/input.js'
import { goTo, show, need } from './parts/layout.js'
import { numbersOf, readCountsOfAgent, type Range } from './parts/numbers.js'
import { Facts, formatCount, Time, WholeId } from './parts/parts.js'
import { Live, TableSection } from './parts/table.js'
import { problemText } from './parts/texts.js'
import { useView } from './parts/zone.js'

const DAY = 86_400_000
const MAX_FAILED = 10

export const agentPageRoutes = ({ service }: ConsoleDeps) =>
  newRoutes()
    .get('/agents/:agent', need('agents.get'), (c) => agentPage(c, service))

    .post('/agents/:agent', need('agents.update'), async (c) => {
      const draft = textsIn(SETTINGS, await c.req.parseBody())
      const ref = agentRef(c)
      const change = settingsIn(SETTINGS, draft)
      return service.agents.update({ ...byActor(c, ref), change }).then(
        () => goTo(c, `/agents/${ref.agent}?notice=agentChanged`),
        (thrown) => agentPage(c, service, { draft, problem: problemText(errorIn(thrown)) }),
      )
    })

/** The settings that are numbers. */
const SETTINGS = {
  concurrency: agentSettings.concurrency,
  maxAttempts: agentSettings.maxAttempts,
  maxQueued: agentSettings.maxQueued,
}

type Work = Awaited<ReturnType<typeof readWork>>

/** Reads the numbers and the failed messages of an agent, and its people by day, since yesterday. */
async function readWork(service: ConsoleDeps['service'], agent: Agent, range: Range) {
  const { projectId, id } = agent
  const counted = await readCountsOfAgent(service, agent, range)
  const from = counted.now - DAY
  const people = await service.stats({ projectId, step: '1d', by: 'agent', id, from })
  const search = { projectId, agent: id, state: 'failed', limit: MAX_FAILED } as const
  const failed = (await service.messages.search(search)).data
  return { counted, people, failed }
}

type Refused = { readonly draft: Texts; readonly problem: string }

async function agentPage(c: PageRequest, service: ConsoleDeps['service'], refused?: Refused) {
  const range = rangeIn(c)
  const agent = await service.agents.get(agentRef(c))
  const work = can(c, 'messages.list') ? await readWork(service, agent, range) : undefined
  const { id, name, concurrency, maxAttempts, maxQueued } = agent
  const path = `${BASE}/agents/${id}`
  return show(
    c,
    { title: `Agent ${name}`, section: 'Agents', crumb: 'agent', problem: refused?.problem },
    <>
      <div class="heading">
        <h1 class="long">{name}</h1>
        {work && <Ranges path={path} range={range} />}
      </div>
      <div class="buttons">
        {work && (
          <a class="button" href={sessionsPath(name)}>
            Sessions
          </a>
        )}
        {can(c, 'agents.start') && <AgentActions agent={agent} from="page" />}
      </div>
      <Live every={5_000}>
        {work && <Numbers agent={name} work={work} range={range} />}
        <AgentFacts agent={agent} />
        {work && <Failed agent={agent} failed={work.failed} />}
      </Live>
      {can(c, 'agents.update') && (
        <PostForm
          action={path}
          class="narrow card stack"
          intro={<h2>Settings</h2>}
          problem={refused?.problem}
          fields={fieldsOfSettings(SETTINGS)}
          values={refused?.draft ?? { concurrency, maxAttempts, maxQueued }}
          button="Save"
        />
      )}
    </>,
  )
}

type NumbersProps = { readonly agent: string; readonly work: Work; readonly range: Range }

function Numbers({ agent, work: { counted, people }, range }: NumbersProps) {
  const numbers = numbersOf(counted, range)
  const { total } = numbers
  const { inputTokens, outputTokens } = total
  const from = counted.since
  return (
    <>
      <Tiles
        tiles={[
          ...messageTiles(total, from, `${formatCount(total.answered)} answered`, agent),
          {
            name: 'Tokens',
            value: inputTokens + outputTokens,
            href: messagesPath({ agent, from }),
            note: `${formatCount(inputTokens)} in, ${formatCount(outputTokens)} out`,
          },
          peopleTile(people, agent),
        ]}
      />
      <div class="charts">
        <MessageCharts numbers={numbers} agent={agent} />
      </div>
    </>
  )
}

/** The form has the settings. A key that cannot change them sees them here. */
function AgentFacts({ agent }: { readonly agent: Agent }) {
  const { c } = useView()
  const settings = Object.entries(SETTINGS).map(
    ([name, setting]) => [titleOf(setting), agent[name as keyof typeof SETTINGS]] as const,
  )
  return (
    <Facts
      facts={{
        State: <AgentState agent={agent} />,
        Runtime: agent.runtime.kind,
        'Acts for':
          agent.defaultExecutionPrincipal.type === 'service' ? 'the service' : 'end users',
        ...(!can(c, 'agents.update') && Object.fromEntries(settings)),
        Created: <Time at={agent.createdAt} />,
        ID: <WholeId id={agent.id} />,
      }}
    />
  )
}

type FailedProps = { readonly agent: Agent; readonly failed: readonly FoundMessage[] }

const Failed = ({ agent: { id, name }, failed }: FailedProps) => (
  <TableSection
    id="failed"
    title={
      <>
        Failed messages <a href={messagesPath({ agent: name, state: 'failed' })}>Show all</a>
      </>
    }
    rows={failed}
    columns={{ ...messageColumns(new Map([[id, name]])), Agent: false, State: false }}
    empty={<p class="inset muted">No message of this agent is failed now.</p>}
  />
)
