// One space, and a token without space and comma: duplicate headers arrive joined by a comma, and which one would count?
const BEARER = /^bearer ([!-+\--~]+)$/i

/** The token of `Authorization: Bearer <token>` (RFC 6750; the scheme in any case), or undefined. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
