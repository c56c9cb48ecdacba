DROP POLICY writers ON scorpiox_code.secret;
CREATE POLICY writers ON scorpiox_code.secret
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
DROP POLICY writers ON scorpiox_code.relay;
CREATE POLICY writers ON scorpiox_code.relay
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
ALTER TABLE scorpiox_code.format ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON scorpiox_code.format FOR SELECT USING (true);
CREATE POLICY writers ON scorpiox_code.format
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
ALTER TABLE scorpiox_code.workspace ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON scorpiox_code.workspace FOR SELECT USING (true);
CREATE POLICY writers ON scorpiox_code.workspace
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
ALTER TABLE scorpiox_code.entry ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON scorpiox_code.entry FOR SELECT USING (true);
CREATE POLICY writers ON scorpiox_code.entry
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
ALTER TABLE scorpiox_code.usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON scorpiox_code.usage FOR SELECT USING (true);
CREATE POLICY writers ON scorpiox_code.usage
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
ALTER TABLE scorpiox_code.timer ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON scorpiox_code.timer FOR SELECT USING (true);
CREATE POLICY writers ON scorpiox_code.timer
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
ALTER TABLE scorpiox_code.message ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON scorpiox_code.message FOR SELECT USING (true);
CREATE POLICY writers ON scorpiox_code.message
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
ALTER TABLE scorpiox_code.ended ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON scorpiox_code.ended FOR SELECT USING (true);
CREATE POLICY writers ON scorpiox_code.ended
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
ALTER TABLE scorpiox_code.commit_mark ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON scorpiox_code.commit_mark FOR SELECT USING (true);
CREATE POLICY writers ON scorpiox_code.commit_mark
    USING (has_table_privilege('scorpiox_code.secret', 'SELECT')
        AND has_table_privilege('scorpiox_code.secret', 'INSERT'));
DELETE FROM scorpiox_code.relay;
ALTER TABLE scorpiox_code.workspace ADD CONSTRAINT size CHECK (
        octet_length(mark) <= 64
    ) NOT VALID;
ALTER TABLE scorpiox_code.entry ADD CONSTRAINT size CHECK (
        octet_length(value) <= 1048576
    ) NOT VALID;
ALTER TABLE scorpiox_code.message ADD CONSTRAINT size CHECK (
        octet_length(text) <= 1048576 AND octet_length(namespace) <= 4096
        AND octet_length(mark) <= 64 AND octet_length(sender) <= 64
    ) NOT VALID;
ALTER TABLE scorpiox_code.secret ADD CONSTRAINT size CHECK (
        octet_length(value) <= 1024
    ) NOT VALID;
ALTER TABLE scorpiox_code.relay ADD CONSTRAINT size CHECK (
        octet_length(content) <= 2097152 AND octet_length(mark) <= 64 AND octet_length(sender) <= 64
    ) NOT VALID;
ALTER TABLE scorpiox_code.commit_mark ADD CONSTRAINT size CHECK (
        octet_length(mark) <= 64
    ) NOT VALID;
