import { refusalOf } from '@org/agent-messaging-testing'
import { PERMISSIONS } from '@org/agent-messaging-core'
import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { openDemoBrowser, openMenu, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

let browser: DemoBrowser

/** Presses Enter on the focused control and waits for the next page. */
const enter = (page: Page) => Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])

async function follow(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).focus()
  await enter(page)
}

/** Types into the field with this label, and submits its form. */
async function submit(page: Page, label: string, text: string): Promise<void> {
  await page.getByLabel(label).focus()
  await page.keyboard.type(text)
  await enter(page)
}

describe(
  'projects and keys, by the keyboard',
  { ...needs('chromium'), timeout: 2 * TIMEOUT_MS },
  () => {
    beforeAll(async () => {
      browser = await openDemoBrowser()
    }, 3 * TIMEOUT_MS)

    afterAll(async () => browser.close())

    it('a key is created, used by a program, revoked, and all of it is in the log', async () => {
      await browser.signedIn(async (page) => {
        await page.goto(browser.at(''))
        await follow(page, 'demo')
        await follow(page, 'API keys')
        await page.getByLabel('project:events').focus()
        await page.keyboard.press('Space')
        await submit(page, 'Name', 'the importer')
        const key = (await page.locator('#secret').textContent()) ?? ''
        const { host } = browser.demo.service
        const { permissions } = await host.authenticate({ key })
        expect(permissions).toEqual(['project:events'])

        await follow(page, 'Done')
        await follow(page, 'Revoke the importer')
        await page.getByRole('button', { name: 'Revoke key' }).focus()
        await enter(page)
        await refusalOf(host.authenticate({ key }))

        await follow(page, 'demo')
        await follow(page, 'Audit log')
        const changes = await page.locator('tbody th').allTextContents()
        expect(changes.slice(0, 2)).toEqual(['key.revoked', 'key.created'])
      })
    })

    it('the name of the project fits each width', async () => {
      for (const width of [360, 1000, 1280])
        await browser.signedIn(
          async (page) => {
            for (const path of ['', '/keys', '/audit-log', '/project']) {
              await page.goto(browser.at(path))
              await openMenu(page)
              expect(await page.locator('header .key').isVisible(), path).toBe(true)
              const used = await page.evaluate<number>('document.documentElement.scrollWidth')
              expect(used, `${path} at ${width}`).toBeLessThanOrEqual(width)
            }
          },
          { viewport: { width, height: 800 } },
        )
    })

    it('a form of a project that another tab has left changes nothing', async () => {
      const { service } = browser.demo
      const other = await service.projects.create({ name: 'other' })
      const all = { projectId: other.id, name: 'all', permissions: PERMISSIONS }
      const { key } = await service.keys.create(all)
      const keysNow = async () => await service.keys.list({ projectId: other.id, limit: 9 })
      await browser.signedIn(
        async (page) => {
          await page.goto(browser.at('/keys'))
          const form = { key, add: 'yes' }
          await page.request.post(browser.at('/sign-in'), {
            form,
            headers: { origin: new URL(page.url()).origin },
          })
          await page.getByLabel('project:events').focus()
          await page.keyboard.press('Space')
          await submit(page, 'Name', 'strayed')
          expect(await page.textContent('h1')).toContain('Another tab switched the project')
          expect((await keysNow()).data).toHaveLength(1)
        },
        { expected: ['409'] },
      )
    })

    it('the operator creates a project, opens it, and switches back', async () => {
      await browser.signedIn(async (page) => {
        await page.goto(browser.at('/project'))
        await submit(page, 'API key of another project', browser.demo.operatorKey)
        await follow(page, 'Projects')
        await submit(page, 'Name', 'second shop')
        await page.getByLabel('project:message').focus()
        await page.keyboard.press('Space')
        await submit(page, 'Name', 'first')
        await page.getByRole('button', { name: 'Use this key in the console' }).focus()
        await enter(page)
        await follow(page, 'second shop')
        expect(await page.textContent('h1')).toBe('second shop')
        await page.getByRole('button', { name: 'Switch to demo' }).focus()
        await enter(page)
        expect(await page.locator('header .key').textContent()).toBe('demo')

        await page.goto(browser.at('/projects'))
        const axeFaults = async () => {
          await page.evaluate(axe.source)
          return (await page.evaluate<AxeResults>('axe.run()')).violations
        }
        expect(await axeFaults()).toEqual([])
        await follow(page, 'Audit log of all projects')
        const changes = page.locator('tbody tr', { hasText: 'project.created' })
        expect(await changes.first().textContent()).toContain('second shop')
        expect(await axeFaults()).toEqual([])
        await page.setViewportSize({ width: 360, height: 640 })
        expect(
          await page.evaluate<number>('document.documentElement.scrollWidth'),
        ).toBeLessThanOrEqual(360)
      })
    })
  },
)
