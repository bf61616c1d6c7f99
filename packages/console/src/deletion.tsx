import type { Agent, MessagingService } from '@org/agent-messaging-core'
import { askPage } from './confirm.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from './context.js'
import { erasePath, sessionPath } from './messages/conversation.js'
import { type Count, countText, Problem } from './parts/parts.js'
import { agentRef, byActor, sessionIn, textIn, webhookRef } from './parts/input.js'
import { withKnownName } from './agents.js'
import { showDone, need, goTo } from './parts/layout.js'
import { Check, Fields } from './parts/fields.js'
import { problemText } from './parts/texts.js'

/**
 * Asks for confirmation on a page that lists the consequences, before an action that cannot be
 * undone. The pages use plain forms, for keyboards and without scripts.
 */
export const deletionRoutes = ({ service }: ConsoleDeps) => {
  const mayManageAgents = need('agents.delete')
  const mayManageWebhooks = need('webhooks.delete')
  const mayErase = need('sessions.erase')
  return newRoutes()
    .get('/agents/:agent/delete', mayManageAgents, async (c) =>
      agentPage(c, await agentWithSessions(service, agentRef(c))),
    )

    .post('/agents/:agent/delete', mayManageAgents, async (c) => {
      const form = await c.req.parseBody()
      const ref = agentRef(c)
      const found = await agentWithSessions(service, ref)
      const { name } = found.agent
      if (textIn(form, 'name').trim() !== name)
        return agentPage(c, found, { problem: `The name does not match. Type ${name}.` })
      const force = textIn(form, 'force') === 'yes'
      const done = service.agents.delete({ ...byActor(c, ref), force })
      return showDone(
        c,
        done,
        '/agents?notice=agentDeleted',
        (error) =>
          error.kind === 'agent_busy' &&
          agentPage(c, found, { problem: problemText(error), isBusy: true }),
      )
    })

    .get('/sessions/:agent/erase', mayErase, async (c) => {
      const agent = await service.agents.get(agentRef(c))
      return sessionPage(c, withKnownName(c, agent, c.req.param('agent')), sessionIn(c))
    })

    .post('/sessions/:agent/erase', mayErase, async (c) => {
      const form = await c.req.parseBody()
      const ref = agentRef(c)
      const sessionId = sessionIn(c)
      const force = textIn(form, 'force') === 'yes'
      const done = service.sessions.erase(byActor(c, { ...ref, sessionId, force }))
      return showDone(
        c,
        done,
        `/conversations/sessions?agent=${ref.agent}&notice=sessionErased`,
        (error) =>
          error.kind === 'session_busy' &&
          sessionPage(c, { name: ref.agent }, sessionId, problemText(error)),
      )
    })

    .post('/webhooks/:id/delete', mayManageWebhooks, async (c) => {
      await service.webhooks.delete(byActor(c, webhookRef(c)))
      return goTo(c, '/webhooks?notice=webhookDeleted')
    })
}

const MAX_SESSIONS = 100

async function agentWithSessions(
  service: MessagingService,
  ref: { projectId: string; agent: string },
) {
  const agent = await service.agents.get(ref)
  const { data, nextCursor } = await service.sessions.list({
    projectId: ref.projectId,
    agent: agent.id,
    limit: MAX_SESSIONS,
  })
  return { agent, sessions: { count: data.length, isAll: nextCursor === null } }
}

type Doomed = { readonly agent: Agent; readonly sessions: Count }
type Refused = { readonly problem: string; readonly isBusy?: boolean }

const agentPage = (c: PageRequest, { agent: { id, name }, sessions }: Doomed, refused?: Refused) =>
  askPage(
    c,
    {
      title: `Delete ${name}`,
      section: 'Agents',
      problem: refused?.problem,
      question: `Delete agent ${name}?`,
      path: `${BASE}/agents/${id}/delete`,
      button: 'Delete agent',
      back: `${BASE}/agents`,
    },
    <>
      <p>
        This also deletes {countText(sessions, 'session', 'sessions')} and all of their messages.
        You cannot undo this. Its webhook deliveries stay on record. Receivers get no more events of
        this agent.
      </p>
      <Problem text={refused?.problem} />
      <Fields
        fields={{
          name: {
            label: (
              <>
                Type <code>{name}</code> to confirm
              </>
            ),
            required: true,
            autocomplete: 'off',
            spellcheck: false,
            autofocus: true,
          },
        }}
        values={{ name: refused?.isBusy === true ? name : '' }}
      />
      {refused?.isBusy === true && <Force action="Delete" />}
    </>,
  )

/** `problem` is set if messages of the session are open. */
const sessionPage = (
  c: PageRequest,
  { name }: Pick<Agent, 'name'>,
  sessionId: string,
  problem?: string,
) =>
  askPage(
    c,
    {
      title: 'Erase session',
      section: 'Conversations',
      problem,
      question: 'Erase this session?',
      path: erasePath(name, sessionId),
      button: 'Erase session',
      back: sessionPath(name, sessionId),
    },
    <>
      <p class="url">{sessionId}</p>
      <p>
        This deletes its messages, its answers and the memory of {name} about this session. You
        cannot undo this. Its webhook deliveries stay on record. A later message starts a new
        session with this name.
      </p>
      <Problem text={problem} />
      {problem !== undefined && <Force action="Erase" />}
    </>,
  )

const Force = ({ action }: { readonly action: string }) => (
  <Check name="force" value="yes" required>
    {action} anyway: these messages will get no answer
  </Check>
)
