// Takes a picture of each screen of the console, light and dark, wide and narrow. Needs a build.
//   node scripts/screenshots.mjs [folder]
// With --readme, takes the pictures of the README, in docs/images.
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { createConsole, isConsolePath } from '@org/agent-messaging-console'
import { createHttpApp } from '@org/agent-messaging-adapter-http'
import { chromium } from 'playwright-core'
import { playDemo } from '../packages/server/test/console/demo.mjs'
import { openListener } from '../packages/server/dist/listener/http-listener.js'
import { chromiumOptions } from './chromium.mjs'

const isReadme = process.argv.includes('--readme')
const folder = isReadme ? 'docs/images' : (process.argv[2] ?? 'build/screenshots')
mkdirSync(folder, { recursive: true })

const demo = await playDemo()
const pages = createConsole({ ...demo, catcher: true })
const api = createHttpApp({ ...demo, newRequestId: randomUUID })
const fetch = (request) =>
  (isConsolePath(new URL(request.url).pathname) ? pages : api).fetch(request)
const listener = await openListener({ host: '127.0.0.1', port: 0, fetch })
const origin = listener.url
const browser = await chromium.launch(chromiumOptions())

const { data: open } = await demo.service.deliveries.list({
  projectId: demo.projectId,
  webhookId: demo.webhooks[2].id,
  lastAnswer: '5xx',
  limit: 100,
})
const failed = open.toSorted((a, b) => b.attemptCount - a.attemptCount)[0]
const { projectId, service } = demo
const recovery = await service.recoveries.start({
  projectId,
  filter: { status: 'delivered', webhookId: demo.webhooks[0].id },
})
const messages = await service.messages.search({ projectId, limit: 1 })
const questions = await service.inputs.list({ projectId, limit: 1 })
const asking = questions.data[0].id
const screens = {
  overview: '',
  agents: '/agents',
  'delete-agent': '/agents/translator/delete',
  sessions: '/conversations/sessions?agent=support',
  conversation: '/sessions/support?session=order-4711',
  'conversation-formatted': '/sessions/support?session=order-4715',
  'conversation-raw': '/sessions/support?session=order-4715&view=raw',
  'erase-session': '/sessions/support/erase?session=order-4711',
  messages: '/conversations',
  questions: '/questions',
  'questions-answered': '/questions/answered',
  question: `/questions/${asking}`,
  'withdraw-question': `/questions/${asking}/withdraw`,
  'messages-failed': '/conversations?state=failed',
  message: `/messages/${messages.data[0].message.id}`,
  search: '/search?q=4711',
  'conversation-failed': '/sessions/support?session=order-4712',
  webhooks: '/webhooks',
  'webhooks-held': '/webhooks?show=held',
  webhook: `/webhooks/${demo.webhooks[2].id}`,
  'webhook-gone': `/webhooks/${demo.webhooks[3].id}`,
  'delete-webhook': `/webhooks/${demo.webhooks[3].id}/delete`,
  'edit-webhook': `/webhooks/${demo.webhooks[3].id}/edit`,
  rotate: `/webhooks/${demo.webhooks[0].id}/rotate`,
  disable: `/webhooks/${demo.webhooks[0].id}/disable`,
  recover: `/recover?webhook=${demo.webhooks[0].id}&status=delivered`,
  'recover-all': '/recover',
  recovery: `/recoveries/${recovery.id}?total=200`,
  deliveries: '/deliveries',
  'deliveries-filtered': `/deliveries?answer=2xx&webhook=${demo.webhooks[1].id}`,
  delivery: `/deliveries/${failed.id}`,
  catcher: '/catcher',
  project: '/project',
  keys: '/keys',
  'audit-log': '/audit-log',
  projects: '/projects',
  'projects-audit-log': '/projects/audit-log',
  'deliveries-failed': '/deliveries?answer=failed',
  nothing: '/deliveries?event=agent.stopped',
  missing: '/nowhere',
  'sign-in': '/sign-in',
  'api-reference': '',
}
const all = Object.keys(screens)
/** @type {[theme: string, width: number, names: string[]][]} */
const looks = isReadme
  ? [
      ['light', 1280, ['overview']],
      ['dark', 1280, ['overview']],
    ]
  : [
      ['light', 1280, all],
      ['dark', 1280, all],
      ['light', 390, all],
      ['dark', 390, all],
    ]

const caught = await signedIn('light', 1280)
await caught.goto(`${origin}/console/catcher`)
await caught.click('text=Register as a webhook')
await demo.service.messages.send({
  projectId: demo.projectId,
  agent: 'support',
  sessionId: 'order-4714',
  message: 'Thanks! And the invoice?',
  waitMs: 0,
})
await caught.waitForSelector('.caught')
await caught.close()

for (const [theme, width, names] of looks) {
  const page = await signedIn(theme, width)
  for (const name of names) {
    await page.goto(
      name === 'api-reference' ? `${origin}/docs` : `${origin}/console${screens[name]}`,
    )
    const file = isReadme ? `console-${theme}.png` : `${name}-${theme}-${width}.png`
    await page.screenshot({
      path: path.join(folder, file),
      fullPage: !isReadme && name !== 'api-reference',
    })
  }
  await page.close()
}
if (!isReadme) await portalPictures()
await browser.close()
await demo.stop()
await listener.close(0)

async function signedIn(colorScheme, width) {
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } })
  await page.goto(origin + pages.signInPath(demo.key))
  await page.goto(`${origin}/console/project`)
  await page.fill('#key', demo.operatorKey)
  await Promise.all([page.waitForNavigation(), page.getByText('Open project').click()])
  return page
}

/** The first page of a customer. */
async function portalPictures() {
  for (const [theme, width] of looks) {
    const link = await service.portals.create({ projectId, returnUrl: 'https://app.example.com/' })
    const page = await browser.newPage({ colorScheme: theme, viewport: { width, height: 800 } })
    await page.goto(`${origin}/console/portal?code=${link.code}`)
    const file = `portal-${theme}-${width}.png`
    await page.screenshot({ path: path.join(folder, file), fullPage: true })
    await page.close()
  }
}
