import { PORTAL_PERMISSIONS } from '@org/agent-messaging-core'
import { orMissing } from '@org/agent-messaging-core/runtime'
import { reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { idIn, byActor } from '../path-id.js'
import { readJson } from '../read-json.js'
import { fieldsOf, nullAsAbsent, number, oneOf, text, textOf } from '../schemas.js'
import { validBody } from '../validate.js'
import { portalLinkBody, portalLinkSchema, portalPermissionSchema } from '../wire/portal.js'

const newPortalLink = fieldsOf(
  nullAsAbsent({
    permissions: z
      .array(
        oneOf(PORTAL_PERMISSIONS).meta({ shown: portalPermissionSchema }),
        orMissing('must be an array of permissions'),
      )
      .optional()
      .meta({ minItems: 1, description: 'Default: `project:webhooks`.' }),
    lifetimeSeconds: number.optional().meta({
      shown: { type: 'integer', minimum: 60, maximum: 86_400, default: 3_600 },
      description: 'The seconds from now to the end of the session.',
    }),
    returnUrl: text.optional().meta({
      ...textOf(2_000),
      pattern: '^https?:[^\\x00]+$',
      description: 'A page of an origin in `SERVICE_PORTAL_RETURN_ORIGINS`.',
    }),
  }),
).meta({
  id: 'NewPortalLink',
  examples: [{ permissions: ['project:webhooks'], lifetimeSeconds: 3600 }],
})

/** Portal links for the customer whose project this is. */
export const portalRoutes = ({ service, maxBodyBytes, portal }: HttpDeps) => {
  const mayManage = authorize(service, 'project:admin')
  return new Hono<Env>()
    .post(
      '/v1/portal-links',
      about.create,
      mayManage,
      readJson(maxBodyBytes),
      validBody(newPortalLink),
      async (c) => {
        const page = portal?.pageUrl()
        if (!portal || page === undefined) return refuse(c, { kind: 'portal_off' })
        const input = c.req.valid('json')
        if (!isAllowed(input.returnUrl, portal.returnOrigins))
          return refuse(c, { kind: 'invalid', issues: [NOT_ALLOWED] })
        const created = await service.portals.create(
          byActor(c, { projectId: c.get('projectId'), ...input }),
        )
        if (created.isErr()) return refuse(c, created.error)
        return reply(c, 201, portalLinkBody(created.value, page))
      },
    )

    .delete('/v1/portal-links/:id', about.end, mayManage, async (c) => {
      const ended = await service.portals.end(
        byActor(c, { projectId: c.get('projectId'), portalId: idIn(c.req.param('id')) }),
      )
      return ended.isErr() ? refuse(c, ended.error) : replyEmpty(c)
    })
}

const NOT_ALLOWED = {
  path: 'returnUrl',
  message: 'must have an origin that SERVICE_PORTAL_RETURN_ORIGINS lists',
}

/** Core refuses a text that is not a URL. */
const isAllowed = (url: string | undefined, origins: readonly string[]): boolean =>
  url === undefined || !URL.canParse(url) || origins.includes(new URL(url).origin)

const tag = 'Portal'

const about = {
  create: describeRoute<Service['portals']['create']>({
    tag,
    operationId: 'createPortalLink',
    summary: 'Create a link that opens the portal for a customer, once',
    refusals: { portal_off: true, project_not_found: true, too_many_portals: true },
    answers: { 201: { description: 'The link, shown only here', body: portalLinkSchema } },
  }),
  end: describeRoute<Service['portals']['end']>({
    tag,
    operationId: 'endPortalSession',
    summary: 'End a portal session, or make its link unusable',
    refusals: { portal_not_found: true },
    answers: { 204: { description: 'The session has ended' } },
  }),
}
