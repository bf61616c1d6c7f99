/** Internal entry: the calls of `createMessaging` on fakes. Loads no database. */
export { messagingOn } from './create-messaging.js'
