"""The names of Spark's built-in functions that sqlglot does not know.

From the function registry of Spark 4.2. A function that is neither known to sqlglot nor in
this list is a user's own, of which nothing is known: not even whether it is deterministic.
"""

from __future__ import annotations

BUILT_IN = frozenset(
    """
    aes_decrypt aes_encrypt array_binary_search array_repeat array_union arrays_overlap
    assert_true bigint bin binary bitmap_and_agg bround btrim cardinality conv
    count_min_sketch crc32 current_path date_part datepart decimal e every expm1 find_in_set
    format_number from_avro from_csv from_protobuf from_xml get hash histogram_numeric
    hll_sketch_agg hll_sketch_estimate hll_union hll_union_agg hypot inline_outer
    input_file_block_length input_file_block_start input_file_name is_valid_utf8
    is_valid_variant is_variant_null isnotnull isnull java_method json_array_length json_tuple
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float kll_sketch_get_n_bigint kll_sketch_get_n_double
    kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
    kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
    kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double
    kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double
    kll_sketch_to_string_float log1p luhn_check make_date make_dt_interval make_time
    make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map_concat
    map_entries map_filter map_values map_zip_with mask mean measure monotonically_increasing_id
    now nullifzero octet_length pmod positive printf quote raise_error reflect regexp
    schema_of_avro schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg
    schema_of_xml sentences session_window shiftrightunsigned smallint some spark_partition_id
    st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid std theta_difference
    theta_intersection theta_intersection_agg theta_sketch_agg theta_sketch_estimate theta_union
    theta_union_agg time_bucket time_from_micros time_from_millis time_from_seconds
    time_to_micros time_to_millis time_to_seconds timediff timestamp_micros timestamp_millis
    timestamp_seconds tinyint to_avro to_csv to_protobuf to_time to_timestamp_ltz
    to_timestamp_ntz to_varchar to_variant_object to_xml transform_keys transform_values
    try_aes_decrypt try_avg try_make_interval try_make_timestamp try_make_timestamp_ltz
    try_make_timestamp_ntz try_mod try_parse_json try_parse_url try_reflect try_sum
    try_to_binary try_to_date try_to_number try_to_time try_to_timestamp try_url_decode
    try_validate_utf8 try_variant_get tuple_difference_double tuple_difference_integer
    tuple_difference_theta_double tuple_difference_theta_integer tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_intersection_double tuple_intersection_integer
    tuple_intersection_theta_double tuple_intersection_theta_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_sketch_estimate_double tuple_sketch_estimate_integer
    tuple_sketch_summary_double tuple_sketch_summary_integer tuple_sketch_theta_double
    tuple_sketch_theta_integer tuple_union_agg_double tuple_union_agg_integer tuple_union_double
    tuple_union_integer tuple_union_theta_double tuple_union_theta_integer url_decode url_encode
    user validate_utf8 variant_get vector_avg vector_cosine_similarity vector_inner_product
    vector_l2_distance vector_norm vector_normalize vector_sum version weekday window
    window_time xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
    xpath_short xpath_string xxhash64 zeroifnull zip_with
    """.split()  # noqa: SIM905 - as a list of literals it could not be read
)

ELSEWHERE = frozenset(
    """
    a_i_forecast agg ai_agg ai_classify ai_embed ai_generate ai_similarity ai_summarize_agg
    anonymous_agg_func approx_distinct approx_percentile_accumulate approx_percentile_combine
    approx_percentile_estimate approx_quantile approx_quantiles approx_top_sum
    approximate_jaccard_index approximate_similarity arg_max arg_min argmax argmin array_all
    array_any array_cat array_concat array_concat_agg array_construct_compact
    array_contained_by array_contains_all array_filter array_first array_has array_has_all
    array_intersection array_last array_length array_overlaps array_remove_at array_reverse
    array_slice array_sum array_to_string array_union_agg array_unique_agg arrayagg
    base64_decode_binary base64_decode_string base64_encode bitwise_and_agg bitwise_count
    bitwise_or_agg bitwise_xor_agg booland booland_agg boolnot boolor boolor_agg boolxor_agg
    byte_length cast_to_str_type charindex check_json check_xml city_hash64
    code_points_to_bytes code_points_to_string columns combined_agg_func
    combined_parameterized_agg compress connect_by_root convert convert_to_charset
    cosine_distance coth countif csch current_account current_account_name
    current_available_roles current_client current_datetime current_ip_address
    current_organization_name current_organization_user current_region current_role
    current_role_type current_schemas current_secondary_roles current_session current_statement
    current_timestamp_l_t_z current_transaction current_user_id current_version
    current_warehouse date_bin date_from_parts date_str_to_date date_to_date_str date_to_di
    datefromparts datetime datetime_add datetime_diff datetime_sub datetime_trunc day_of_month
    day_of_week day_of_year dayofweek_iso decode_case decompress_binary decompress_string
    decrypt decrypt_raw di_to_date dot_product dynamic_identifier encrypt encrypt_raw ends_with
    euclidean_distance exploding_generate_series farm_fingerprint farmfingerprint64
    features_at_time float64 format from_base from_base32 from_base64 from_iso8601_date
    from_iso8601_timestamp from_iso8601_timestamp_nanos gap_fill gen_random_uuid generate_bool
    generate_date_array generate_double generate_embedding generate_int generate_series
    generate_table generate_text generate_timestamp_array generate_uuid generator get_bit
    get_extract get_ignore_case glob group_concat hash_agg hex_decode_string hll host iif int64
    is_array is_ascii is_inf is_nan is_null_value isinf isodow j_s_o_n_array j_s_o_n_array_agg
    j_s_o_n_b_contains_all_top_keys j_s_o_n_b_contains_any_top_keys j_s_o_n_b_contains_top_key
    j_s_o_n_b_delete_at_path j_s_o_n_b_object_agg j_s_o_n_b_path_exists j_s_o_n_bool
    j_s_o_n_cast j_s_o_n_exists j_s_o_n_keys_at_depth j_s_o_n_object j_s_o_n_object_agg
    j_s_o_n_table j_s_o_n_value_array jarowinkler_similarity json_array_append
    json_array_contains json_array_insert json_extract json_extract_array
    json_extract_path_text json_extract_scalar json_format json_keys json_object json_objectagg
    json_parse json_remove json_set json_strip_nulls json_table json_type jsonb_contains
    jsonb_exists jsonb_extract jsonb_extract_scalar justify_days justify_hours justify_interval
    last_day_of_month lax_bool lax_float64 lax_int64 lax_string leftpad list logical_and
    logical_or lower_hex m_d5_number_lower64 m_d5_number_upper64 m_l_forecast m_l_translate
    manhattan_distance map_cat map_delete map_insert map_pick map_size match_against md5_digest
    minhash minhash_combine net_func next_value_for normal normalize number_to_str object_agg
    object_id object_insert object_transform open_j_s_o_n openjson pad parameterized_agg
    parse_bignumeric parse_datetime parse_ip parse_numeric parse_time predict previous_day
    quantile range_bucket range_n read_csv read_parquet reg_domain regexp_full_match
    regexp_i_like regexp_split regr_valx regr_valy rightpad rtrimmed_length s_h_a1_digest
    s_h_a2_digest safe_add safe_cast safe_convert_bytes_to_string safe_divide safe_func
    safe_multiply safe_negate safe_subtract scope_resolution search search_ip sech secret seq1
    seq2 seq4 seq8 soundex_p123 split_by_string split_to_table st_distance st_makepoint
    st_point standard_hash star_map starts_with stdev str_position str_to_date str_to_time
    str_to_unix string_to_array strip_null_value strpos strtok strtok_split_to_table
    strtok_to_array struct_extract stuff systimestamp time_add time_from_parts time_slice
    time_str_to_date time_str_to_time time_str_to_unix time_sub time_to_str time_to_time_str
    time_to_unix timefromparts timestamp_add timestamp_diff timestamp_from_parts
    timestamp_ltz_from_parts timestamp_sub timestamp_trunc timestamp_tz_from_parts
    timestampfromparts timestampltzfromparts timestamptzfromparts to_array to_base32 to_base64
    to_boolean to_code_points to_days to_decfloat to_double to_file to_hex to_map to_variant
    truncate try try_base64_decode_binary try_base64_decode_string try_convert
    try_hex_decode_binary try_hex_decode_string try_to_decfloat ts_or_di_to_di ts_or_ds_add
    ts_or_ds_diff ts_or_ds_to_date ts_or_ds_to_date_str ts_or_ds_to_datetime ts_or_ds_to_time
    ts_or_ds_to_timestamp unicode unix_to_str unix_to_time unix_to_time_str unnest utc_date
    utc_time utc_timestamp uuid_string var_map variance_pop variance_samp vector_search week
    week_of_year week_start weight_string x_m_l_table xmlelement xmlget xmltable xor
    year_of_week year_of_week_iso yearofweek yearofweekiso zipf
    """.split()  # noqa: SIM905 - as above
)
"""Functions of other databases that sqlglot knows and Spark has not: one that is called so is
somebody's own. Left out are words that Spark's grammar reads itself, and names of hints."""
