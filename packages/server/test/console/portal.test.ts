import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { PortalPermission } from '@org/agent-messaging-core/host'
import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/test-needs.js'
import { openDemoBrowser, openMenu, TIMEOUT_MS, type DemoBrowser } from './demo-browser.js'

const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><rect width="60" height="20" fill="#074"/></svg>'
const look = {
  name: 'Acme Cloud',
  logo: { type: 'image/svg+xml', bytes: new TextEncoder().encode(svg) },
  accent: { light: '#007744', dark: '#55ddaa' },
} as const

/** A page of the platform, which shows the portal in a frame. */
const platform = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '', 'http://platform')
  response.setHeader('Content-Type', 'text/html')
  response.end(`<h1>Settings</h1><iframe src="${searchParams.get('src')}"></iframe>`)
})
let platformOrigin: string
let browser: DemoBrowser

async function linkFor(
  permissions: readonly PortalPermission[],
  { projectId } = browser.demo,
): Promise<string> {
  const { service } = browser.demo
  const returnUrl = `${platformOrigin}/`
  const made = await service.portals.create({ projectId, permissions, returnUrl })
  return browser.at(`/portal?code=${made.code}`)
}

async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<AxeResults>('axe.run()')
  return violations.map(({ id }) => `${page.url()}: ${id}`)
}

async function asCustomer(
  permissions: readonly PortalPermission[],
  act: (page: Page) => Promise<void>,
  viewport = { width: 1280, height: 800 },
): Promise<void> {
  const page = await browser.browser.newPage({ viewport })
  page.setDefaultTimeout(TIMEOUT_MS)
  try {
    await page.goto(await linkFor(permissions))
    await act(page)
  } finally {
    await page.close()
  }
}

describe('the portal', { ...needs('chromium'), timeout: 2 * TIMEOUT_MS }, () => {
  beforeAll(async () => {
    platform.listen(0, '127.0.0.1')
    await once(platform, 'listening')
    platformOrigin = `http://127.0.0.1:${(platform.address() as AddressInfo).port}`
    browser = await openDemoBrowser({ look, frameOrigins: [platformOrigin] })
  }, 3 * TIMEOUT_MS)

  afterAll(async () => {
    await browser.close()
    platform.close()
  })

  it('lets a customer register a webhook and send a delivery again', async () => {
    await asCustomer(['project:webhooks'], async (page) => {
      expect(await page.title()).toBe('Webhooks · Acme Cloud')
      expect(await page.locator('header nav a').allTextContents()).toEqual([
        'Webhooks',
        'Events',
        'Deliveries',
      ])
      await page.getByLabel('URL', { exact: true }).fill('https://hooks.customer.example/in')
      await page.getByRole('button', { name: 'Register', exact: true }).click()
      expect(await page.locator('#secret').textContent()).toMatch(/^whsec_/)

      await page.getByRole('link', { name: 'Deliveries', exact: true }).click()
      await page.locator('tbody a').first().click()
      const { projectId, service } = browser.demo
      const log = () => service.auditLog.list({ projectId, limit: 1 })
      expect((await log()).data).toMatchObject([
        { action: 'webhook.created', actor: { kind: 'portal' } },
      ])
      await page.locator('button#redeliver').click()
      await page.getByRole('status').waitFor()
    })
  })

  it.each([360, 1280])('has no accessibility faults, and fits %i pixels', async (width) => {
    const faults: string[] = []
    await asCustomer(
      ['project:webhooks', 'project:message'],
      async (page) => {
        const id = browser.demo.webhooks[0]?.id ?? ''
        for (const path of [
          '/webhooks',
          `/webhooks/${id}`,
          '/deliveries',
          '/conversations/sessions',
          '/keys',
        ]) {
          await page.goto(browser.at(path))
          faults.push(...(await faultsOf(page)))
          const used = await page.evaluate<number>('document.documentElement.scrollWidth')
          expect(used, path).toBeLessThanOrEqual(width)
        }
        await openMenu(page)
        await page.getByRole('button', { name: 'Leave' }).click()
        expect(
          await page
            .locator('main')
            .getByRole('link', { name: /^Back to/ })
            .isVisible(),
        ).toBe(true)
        faults.push(...(await faultsOf(page)))
      },
      { width, height: 800 },
    )
    expect(faults).toEqual([])
  })

  it.each([360, 1280])('asks before it replaces another session, at %i pixels', async (width) => {
    const name = 'A customer with a long name, of Llanfairpwllgwyngyll'
    const other = await browser.demo.service.projects.create({ name })
    const viewport = { width, height: 800 }
    await browser.signedIn(
      async (page) => {
        const mine = await linkFor(['project:webhooks'])
        await page.goto(mine)
        await page.getByRole('heading', { name: 'Open the portal of demo?' }).waitFor()
        await page.getByRole('link', { name: 'Cancel' }).click()
        await page.waitForURL(browser.at(''))
        await page.goto(mine)
        await page.getByRole('button', { name: 'Act for demo' }).click()
        await page.waitForURL(browser.at('/webhooks'))
        expect(await page.locator('.customer').textContent()).toBe('For demo')

        await page.goto(
          await linkFor(['project:webhooks'], { ...browser.demo, projectId: other.id }),
        )
        expect(await page.locator('main li').allTextContents()).toEqual([
          expect.stringContaining('The portal of demo'),
          expect.stringContaining('of the project demo'),
        ])
        const faults = await faultsOf(page)
        await page.getByRole('button', { name: `Act for ${name}` }).click()
        await page.waitForURL(browser.at('/webhooks'))
        expect(await page.locator('.customer').textContent()).toBe(`For ${name}`)
        const used = await page.evaluate<number>('document.documentElement.scrollWidth')
        expect(used).toBeLessThanOrEqual(width)
        expect([...faults, ...(await faultsOf(page))]).toEqual([])

        await openMenu(page)
        await page.getByRole('button', { name: 'Leave' }).click()
        await page.goto(browser.at('/keys'))
        await page.getByRole('heading', { name: 'API keys' }).waitFor()
      },
      { viewport },
    )
  })

  it('is shown in a frame of the platform, and works there', async () => {
    const page = await browser.browser.newPage()
    const src = encodeURIComponent(await linkFor(['project:webhooks']))
    await page.goto(`${platformOrigin}/?src=${src}`)
    const frame = page.frameLocator('iframe')
    await frame.getByRole('heading', { name: 'Webhooks' }).waitFor()
    await openMenu(frame)
    await frame.getByRole('link', { name: 'Deliveries', exact: true }).click()
    await frame.getByRole('heading', { name: 'Deliveries' }).waitFor()
    await openMenu(frame)
    await frame.getByRole('link', { name: /^Back to/ }).click()
    await page.waitForURL(`${platformOrigin}/`)
    expect(await page.locator('h1').textContent()).toBe('Settings')
    await page.close()
  })
})
