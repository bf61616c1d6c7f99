import type { Webhook } from '@org/agent-messaging-core'
import { webhookSettings } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { byActor, projectIn, textIn, webhookRef } from '../parts/input.js'
import { canListAgents } from '../known-agents.js'
import { goTo, show, showError, showFound } from '../parts/layout.js'
import type { ConsoleDeps, Env } from '../context.js'
import { BASE } from '../options.js'
import { problemText } from '../parts/problem.js'
import { textsOf } from '../parts/fields.js'
import { need } from '../access/sign-in.js'
import { filterTexts, readFilter } from './webhook-filter-form.js'
import { fieldsIn, settingsOf, WebhookForm, type WebhookDraft } from './webhook-form.js'

/**
 * Changes a webhook, except its secret and headers. A URL on another origin requires that
 * the headers are removed.
 */
export const webhookEditRoutes = ({ service }: ConsoleDeps) => {
  const mayManage = need('project:webhooks')
  return new Hono<Env>()
    .get(`${BASE}/webhooks/:id/edit`, mayManage, (c) =>
      showFound(c, service.webhooks.get(webhookRef(c)), async (webhook) => {
        const agent = await shownAgent(c, service, webhook.filter?.agentId)
        return editPage(c, webhook.id, draftOf(webhook, agent))
      }),
    )

    .post(`${BASE}/webhooks/:id/edit`, mayManage, async (c) => {
      const ref = webhookRef(c)
      const form = await c.req.parseBody({ all: true })
      const fields = fieldsIn(form)
      const headers = textIn(form, 'dropHeaders') === 'yes' ? { headers: null } : {}
      const changed = await service.webhooks.update({
        ...byActor(c, ref),
        change: {
          ...settingsOf(fields),
          ...headers,
          ...(await readFilter(service, ref.projectId, fields)),
        },
      })
      if (changed.isOk()) return goTo(c, `/webhooks/${ref.webhookId}?notice=webhookChanged`)
      if (changed.error.kind !== 'invalid') return showError(c, changed.error)
      return editPage(c, ref.webhookId, {
        ...fields,
        problem: problemText(changed.error),
        hasHeaders: changed.error.issues.some(({ path }) => path === 'headers'),
      })
    })
}

/** Returns the name of the agent if the API key can list agents, and otherwise its id. */
async function shownAgent(
  c: Context<Env>,
  { agents }: ConsoleDeps['service'],
  agentId: string | undefined,
): Promise<string> {
  if (agentId === undefined || !canListAgents(c)) return agentId ?? ''
  const agent = await agents.get({ projectId: projectIn(c), agent: agentId })
  return agent.isOk() ? agent.value.name : agentId
}

const draftOf = (webhook: Webhook, agent: string): WebhookDraft => ({
  url: webhook.url,
  events: webhook.events,
  texts: textsOf(webhookSettings, { ...webhook, ...webhook.sending }),
  hasFilter: true,
  ...filterTexts(webhook.filter, agent),
})

const editPage = (c: Context<Env>, id: string, draft: WebhookDraft) =>
  show(
    c,
    {
      title: 'Edit webhook',
      section: 'Webhooks',
      status: draft.problem === undefined ? 200 : 400,
    },
    <section class="narrow card" aria-labelledby="edit">
      <h1 id="edit">Edit webhook</h1>
      <WebhookForm action={`${BASE}/webhooks/${id}/edit`} draft={draft} button="Save">
        <a class="button" href={`${BASE}/webhooks/${id}`}>
          Cancel
        </a>
      </WebhookForm>
    </section>,
  )
