import { createHash } from 'node:crypto'
import { Hono } from 'hono'
import type { Env, LookUrls } from '../context.js'
import { BASE, type PortalLook } from '../options.js'

type Asset = { readonly type: string; readonly body: string | Uint8Array<ArrayBuffer> }

const assetsOf = ({ logo, accent }: PortalLook): Readonly<Record<string, Asset>> => ({
  ...(logo && { logo: { type: logo.type, body: logo.bytes } }),
  ...(accent && { 'style.css': { type: 'text/css; charset=utf-8', body: styleOf(accent) } }),
})

const styleOf = ({ light, dark }: { readonly light: string; readonly dark: string }): string =>
  `:root {
  --accent: light-dark(${light}, ${dark});
  --accent-soft: color-mix(in srgb, var(--accent) 12%, var(--card));
}
`

const digestOf = ({ body }: Asset): string =>
  createHash('sha256').update(body).digest('base64url').slice(0, 12)

export function lookUrlsOf(look: PortalLook): LookUrls {
  const { logo, 'style.css': style } = assetsOf(look)
  return {
    ...(logo && { logoUrl: `${BASE}/portal/logo?v=${digestOf(logo)}` }),
    ...(style && { styleUrl: `${BASE}/portal/style.css?v=${digestOf(style)}` }),
  }
}

/** Serves the files of the look. They are public, like the assets of all pages. */
export function lookRoutes(look: PortalLook): Hono<Env> {
  const assets = assetsOf(look)
  return new Hono<Env>().get('/portal/:name{logo|style.css}', (c) => {
    const asset = assets[c.req.param('name')]
    if (!asset) return c.notFound()
    c.header('Content-Type', asset.type)
    c.header('Cache-Control', 'public, max-age=31536000, immutable')
    return c.body(asset.body)
  })
}
