/** Internal entry: the calls of `createMessaging` on fakes. Loads no database. */
export { messagingOn } from './create-messaging.js'
export { requireKnownOptions } from './known-options.js'
