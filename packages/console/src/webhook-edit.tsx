import type { Webhook } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { textIn } from './form.js'
import { show, showProblem } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { idIn } from './paging.js'
import { problemStatus, problemText } from './problem.js'
import { need } from './sign-in.js'
import { fieldsIn, settingsOf, WebhookForm, type WebhookDraft } from './webhook-form.js'

/** Changes a webhook. Its agent and its secret stay as they are; so do its headers, unless its URL leads to another origin. */
export const webhookEditRoutes = ({ service }: ConsoleDeps) => {
  const mayManage = need('project:webhooks')
  const refIn = (c: Context<Env>) => ({
    projectId: c.get('apiKey').projectId,
    webhookId: idIn(c.req.param('id') ?? ''),
  })
  return new Hono<Env>()
    .get(`${BASE}/webhooks/:id/edit`, mayManage, async (c) => {
      const ref = refIn(c)
      const found = await service.webhooks.get(ref)
      if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
      return editPage(c, ref.webhookId, draftOf(found.value))
    })

    .post(`${BASE}/webhooks/:id/edit`, mayManage, async (c) => {
      const ref = refIn(c)
      const form = await c.req.parseBody({ all: true })
      const fields = fieldsIn(form)
      const headers = textIn(form, 'dropHeaders') === 'yes' ? { headers: null } : {}
      const changed = await service.webhooks.update({
        ...ref,
        change: { ...settingsOf(fields), ...headers },
      })
      if (changed.isOk())
        return c.redirect(`${BASE}/webhooks/${ref.webhookId}?notice=webhookChanged`, 303)
      const problem = problemText(changed.error)
      if (changed.error.kind !== 'invalid')
        return showProblem(c, problemStatus(changed.error), problem)
      const hasHeaders = changed.error.issues.some(({ path }) => path === 'headers')
      return editPage(c, ref.webhookId, { ...fields, problem, hasHeaders })
    })
}

const draftOf = ({ url, description = '', events, disableOnGone }: Webhook): WebhookDraft => ({
  url,
  description,
  events,
  disableOnGone,
})

const editPage = (c: Context<Env>, id: string, draft: WebhookDraft) =>
  show(
    c,
    {
      title: 'Edit a webhook',
      section: 'Webhooks',
      status: draft.problem === undefined ? 200 : 400,
    },
    <section class="narrow card" aria-labelledby="edit">
      <h1 id="edit">Edit this webhook</h1>
      <WebhookForm action={`${BASE}/webhooks/${id}/edit`} draft={draft} button="Save">
        <a class="button" href={`${BASE}/webhooks/${id}`}>
          Leave it as it is
        </a>
      </WebhookForm>
    </section>,
  )
